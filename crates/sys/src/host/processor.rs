//! The processor's name, its caches, the hypervisor around it, and whether its counters count.

use std::fs;
use std::path::Path;

use measure::run::CacheLevel;
use measure::sorting;

use crate::counters::{CycleCounter, NoCycles};

/// Where the kernel lists the processors, and in the folder of each its caches, one folder each.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// The first `model name` of `/proc/cpuinfo`; kernels for aarch64 give none.
pub(super) fn model_name(cpuinfo: &str) -> Option<String> {
    let value = cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then_some(value.trim())
    })?;
    Some(value.to_owned()).filter(|value| !value.is_empty())
}

/// Data and unified caches of the first of these processors that has any, nearest first: from the kernel, else from the
/// processor, else none. Another processor may be offline, which has no list, or of another kind.
pub(super) fn caches(cpus: &[usize]) -> Vec<CacheLevel> {
    let listed = caches_of_first(Path::new(PROCESSORS), cpus);
    if listed.is_empty() { cpuid::caches() } else { listed }
}

fn caches_of_first(processors: &Path, cpus: &[usize]) -> Vec<CacheLevel> {
    let listed = |cpu: &usize| listed_caches(&processors.join(format!("cpu{cpu}/cache")));
    cpus.iter().map(listed).find(|caches| !caches.is_empty()).unwrap_or_default()
}

fn listed_caches(folder: &Path) -> Vec<CacheLevel> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut caches: Vec<CacheLevel> = entries.filter_map(|entry| listed_cache(&entry.path())).collect();
    sorting::by_key(&mut caches, |cache| cache.level);
    caches
}

/// The cache of one `index*` folder; `None` for instruction caches and for everything else in there.
fn listed_cache(folder: &Path) -> Option<CacheLevel> {
    let read = |name| fs::read_to_string(folder.join(name)).ok();
    let holds_data = matches!(read("type")?.trim(), "Data" | "Unified");
    let cache = CacheLevel { level: read("level")?.trim().parse().ok()?, bytes: cache_bytes(&read("size")?)? };
    holds_data.then_some(cache)
}

/// A size as the kernel writes it: `48K`, `32768K`, `1M`.
fn cache_bytes(size: &str) -> Option<u64> {
    let size = size.trim();
    let (digits, unit) = match size.char_indices().next_back()? {
        (at, 'K') => (&size[..at], 1 << 10),
        (at, 'M') => (&size[..at], 1 << 20),
        _ => (size, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The hypervisor's name, when the processor says that there is one.
pub(super) fn hypervisor() -> Option<String> {
    cpuid::hypervisor_signature().map(|signature| hypervisor_name(&signature))
}

/// The usual name for the twelve bytes by which a hypervisor signs; an unknown signature stands for itself.
///
/// Source: the signatures that the kernel looks for in `arch/x86/kernel/cpu/`.
fn hypervisor_name(signature: &[u8; 12]) -> String {
    let name = match signature {
        b"KVMKVMKVM\0\0\0" => "KVM",
        b"Microsoft Hv" => "Hyper-V",
        b"VMwareVMware" => "VMware",
        b"XenVMMXenVMM" => "Xen",
        b"bhyve bhyve " => "bhyve",
        b"TCGTCGTCGTCG" => "QEMU without acceleration",
        b"ACRNACRNACRN" => "ACRN",
        b"VBoxVBoxVBox" => "VirtualBox",
        b" lrpepyh  vr" => "Parallels",
        other => return String::from_utf8_lossy(other).trim_matches(['\0', ' ']).to_owned(),
    };
    name.to_owned()
}

/// Whether hardware counters answer: a counter of this thread's cycles is opened and has to count.
///
/// `Some(false)` when there is no such counter, or when it opens and stays at zero, as some hypervisors have it;
/// `None` when the kernel's settings or a sandbox forbid the question, other programs hold the counters, or the kernel
/// refuses it for another reason.
pub(super) fn counters_answer() -> Option<bool> {
    match CycleCounter::of_this_thread() {
        Ok(_) => Some(true),
        Err(NoCycles::Forbidden | NoCycles::Busy | NoCycles::Refused(_)) => None,
        Err(NoCycles::Hidden) => Some(false),
    }
}

/// What the processor says about itself.
#[cfg(target_arch = "x86_64")]
mod cpuid {
    use std::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};

    use measure::run::CacheLevel;

    /// Leaves that describe one cache a subleaf, in one format: Intel's, and AMD's with topology extensions.
    const CACHE_LEAVES: [u32; 2] = [4, 0x8000_001D];

    /// More caches than any processor has; guards against a leaf that never ends.
    const CACHES_MAX: u32 = 16;

    pub(super) fn caches() -> Vec<CacheLevel> {
        let leaves = CACHE_LEAVES.into_iter().filter(|leaf| leaf_exists(*leaf));
        leaves.map(caches_of_leaf).find(|caches| !caches.is_empty()).unwrap_or_default()
    }

    fn caches_of_leaf(leaf: u32) -> Vec<CacheLevel> {
        let subleaves = (0..CACHES_MAX).map(|subleaf| __cpuid_count(leaf, subleaf));
        subleaves.take_while(|registers| registers.eax & 0x1F != 0).filter_map(|registers| cache(&registers)).collect()
    }

    fn leaf_exists(leaf: u32) -> bool {
        __cpuid(leaf & 0x8000_0000).eax >= leaf
    }

    /// One cache from its subleaf: ways * partitions * line size * sets. `None` for instruction caches.
    ///
    /// Source: Intel SDM volume 2, CPUID leaf 04H; AMD64 APM volume 3, Fn8000_001D: the same bits.
    pub(super) fn cache(registers: &CpuidResult) -> Option<CacheLevel> {
        const DATA: u32 = 1;
        const UNIFIED: u32 = 3;
        let ways = u64::from(registers.ebx >> 22) + 1;
        let partitions = u64::from(registers.ebx >> 12 & 0x3FF) + 1;
        let line = u64::from(registers.ebx & 0xFFF) + 1;
        let sets = u64::from(registers.ecx) + 1;
        let holds_data = matches!(registers.eax & 0x1F, DATA | UNIFIED);
        let bytes = ways * partitions * line * sets;
        holds_data.then_some(CacheLevel { level: (registers.eax >> 5 & 7) as u8, bytes })
    }

    /// The twelve bytes of leaf 0x4000_0000, where leaf 1, ECX bit 31 says that a hypervisor is present.
    pub(super) fn hypervisor_signature() -> Option<[u8; 12]> {
        let present = __cpuid(1).ecx & (1 << 31) != 0;
        present.then(|| signature(&__cpuid(0x4000_0000)))
    }

    pub(super) fn signature(registers: &CpuidResult) -> [u8; 12] {
        let mut bytes = [0; 12];
        let words = [registers.ebx, registers.ecx, registers.edx];
        for (place, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes
    }
}

/// Other architectures report nothing to user programs.
#[cfg(not(target_arch = "x86_64"))]
mod cpuid {
    use measure::run::CacheLevel;

    pub(super) fn caches() -> Vec<CacheLevel> {
        Vec::new()
    }

    pub(super) fn hypervisor_signature() -> Option<[u8; 12]> {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_model_name_is_the_first_one() {
        let cpuinfo = "processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC: 9\n\nmodel name\t: other\n";
        assert_eq!(model_name(cpuinfo).as_deref(), Some("AMD EPYC: 9"));
        assert_eq!(model_name("processor : 0\n"), None);
    }

    #[test]
    fn cache_sizes_carry_their_unit() {
        assert_eq!(cache_bytes("48K\n"), Some(48 << 10));
        assert_eq!(cache_bytes("2M"), Some(2 << 20));
        assert_eq!(cache_bytes("64"), Some(64));
        assert_eq!(cache_bytes("K"), None);
        assert_eq!(cache_bytes(""), None);
    }

    /// Lists a cache as the kernel does.
    fn list(cache: &Path, kind: &str, level: &str, size: &str) {
        fs::create_dir_all(cache).unwrap();
        for (file, text) in [("type", kind), ("level", level), ("size", size)] {
            fs::write(cache.join(file), text).unwrap();
        }
    }

    #[test]
    fn instruction_caches_are_left_out_and_the_nearest_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let listed = [
            ("index0", "Unified", "2", "1024K"),
            ("index1", "Instruction", "1", "32K"),
            ("index2", "Data", "1", "48K"),
        ];
        for (name, kind, level, size) in listed {
            list(&folder.path().join(name), kind, level, size);
        }
        fs::write(folder.path().join("uevent"), "").unwrap();
        let expected = [CacheLevel { level: 1, bytes: 48 << 10 }, CacheLevel { level: 2, bytes: 1 << 20 }];
        assert_eq!(listed_caches(folder.path()), expected);
    }

    #[test]
    fn caches_are_those_of_a_processor_that_may_be_used_and_is_not_offline() {
        let processors = tempfile::tempdir().unwrap();
        fs::create_dir(processors.path().join("cpu0")).unwrap();
        list(&processors.path().join("cpu4/cache/index0"), "Data", "1", "32K");
        list(&processors.path().join("cpu8/cache/index0"), "Data", "1", "64K");
        let of = |cpus: &[usize]| -> Vec<u64> {
            caches_of_first(processors.path(), cpus).into_iter().map(|cache| cache.bytes).collect()
        };
        assert_eq!([of(&[0, 4, 8]), of(&[8]), of(&[0])], [vec![32_u64 << 10], vec![64 << 10], vec![]]);
    }

    #[test]
    fn a_hypervisor_goes_by_its_usual_name() {
        assert_eq!(hypervisor_name(b"KVMKVMKVM\0\0\0"), "KVM");
        assert_eq!(hypervisor_name(b"something\0\0\0"), "something");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_cache_is_computed_from_its_registers() {
        use std::arch::x86_64::CpuidResult;
        // 12 ways, 1 partition, 64 bytes, 64 sets: the 48 KiB data cache of Golden Cove and of Zen 5.
        let registers = CpuidResult { eax: 0x21, ebx: 11 << 22 | 63, ecx: 63, edx: 0 };
        assert_eq!(cpuid::cache(&registers), Some(CacheLevel { level: 1, bytes: 48 << 10 }));
        assert_eq!(cpuid::cache(&CpuidResult { eax: 0x22, ..registers }), None);
        let signed = CpuidResult { eax: 0, ebx: 0x4B4D_564B, ecx: 0x564B_4D56, edx: 0x4D };
        assert_eq!(hypervisor_name(&cpuid::signature(&signed)), "KVM");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_processor_and_the_kernel_agree_on_the_caches() {
        let (listed, reported) = (caches_of_first(Path::new(PROCESSORS), &[0]), cpuid::caches());
        if listed.is_empty() || reported.is_empty() {
            println!("skipped: one of the two sources of cache sizes is silent here");
            return;
        }
        assert_eq!(listed, reported);
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in "\\PC*|(model name|[:KM\n0-9 \t])*", signature: [u8; 12]) {
            let _ = model_name(&text);
            let _ = cache_bytes(&text);
            let _ = hypervisor_name(&signature);
        }
    }
}

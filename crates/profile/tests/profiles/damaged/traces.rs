//! Makes inputs: a few constructs of a trace in any order, with bytes, numbers or segments changed.

use measure::random::SplitMix64;

/// Constructs, whole; what is in them looks like what databases write.
const CONSTRUCTS: [&str; 26] = [
    "=====================\nPARSING IN CURSOR #5 len=8 dep=0 uid=1 oct=3 lid=1 tim=5000 hv=7 ad='a' \
     sqlid='x1'\nselect 1\nEND OF STMT\n",
    "PARSING IN CURSOR #6 len=40 dep=1 uid=0 oct=3 lid=0 tim=6000 hv=8 ad='b'\n\
     select '\nEND OF STMT\n' from dual\nEND OF STMT\n",
    "PARSE #5:c=10,e=20,p=0,cr=1,cu=0,mis=1,r=0,dep=0,og=1,plh=77,tim=6100\n",
    "EXEC #5:c=1000,e=2000,p=1,cr=2,cu=3,mis=0,r=1,dep=0,og=1,plh=77,tim=9000\n",
    "EXEC #6:c=0,e=900,p=1,cr=2,cu=3,mis=0,r=1,dep=1,og=4,tim=8900\n",
    "FETCH #6:c=0,e=90,p=1,cr=2,cu=0,mis=0,r=1,dep=2,og=4,tim=8950\n",
    "FETCH #5:c=0,e=100,p=1,cr=4,cu=0,mis=0,r=15,dep=0,og=1,tim=9900\n",
    "CLOSE #5:c=0,e=9,dep=0,type=1,tim=9990\n",
    "SORT UNMAP #5:c=0,e=9,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=9995\n",
    "WAIT #5: nam='db file sequential read' ela= 40 file#=1 block#=2 blocks=1 obj#=5 tim=9850\n",
    "WAIT #5: nam='db file scattered read' ela= 400 file#=1 block#=20 blocks=8 obj#=5 tim=8000\n",
    "WAIT #0: nam='SQL*Net message from client' ela= 1500000 driver id=1413697536 #bytes=1 p3=0 obj#=-1 tim=1600000\n",
    "WAIT #6: nam='latch: it's a' ela=7 p1=1 p2=-2 p3=0\n",
    "STAT #5 id=1 cnt=1 pid=0 pos=1 obj=0 op='SORT (AGGREGATE) (cr=4 pr=1 pw=0 str=1 \
     time=90 us cost=3 size=9 card=1)'\n",
    "STAT #5 id=2 cnt=8 pid=1 pos=1 obj=-1 op='TABLE ACCESS FULL T '\n",
    "BINDS #5:\n\n Bind#0\n  oacdty=01 mxl=32(02)\n  value=\"a\nEXEC #5:c=1,e=2\n\"\n Bind#1\n  value=7\n",
    "XCTEND rlbk=0, rd_only=1, tim=9996\n",
    "ERROR #5:err=942 tim=9997\n",
    "PARSE ERROR #5:len=12 dep=0 uid=1 oct=3 lid=1 tim=5 err=942\nselect\nfrom\n",
    "*** 2019-11-06T13:10:13.148529+00:00 (PDB1(3))\n",
    "*** SESSION ID:(9.1) 2015-03-10 14:08:53.050\n",
    "*** SESSION ID:(10.7) 2015-03-10 14:08:54.050\n*** MODULE NAME:(a(b) c) 2015-03-10 14:08:54.050\n",
    "LOBREAD: type=TEMPORARY LOB,bytes=3,c=99,e=577,p=8,cr=8,cu=0,tim=9999\n",
    "RPC CALL:X.Y;\nRPC BINDS:\n bind 0: dty=2\nRPC EXEC:c=1,e=2\n",
    "*** TRACE CONTINUES IN FILE /a/b.trc ***\n*** [ Unix process pid: 77 ]\n",
    "Trace file /a/b_ora_1.trc\nOracle Database 11g Enterprise Edition Release 11.2.0.3.0 - 64bit\n\n",
];

/// Numbers at the edges of what fits.
const NUMBERS: [&str; 10] = [
    "0",
    "-1",
    "4294967296",
    "65536",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "99999999999999999999999",
    "1234567890123456",
    "72057594037927936",
];

/// An input.
pub(super) fn input(random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(6) {
        let construct = CONSTRUCTS[random.below(CONSTRUCTS.len() as u64) as usize];
        bytes.extend_from_slice(construct.as_bytes());
    }
    for _ in 0..random.below(5) {
        change(&mut bytes, random);
    }
    if random.below(16) == 0 {
        bytes = String::from_utf8_lossy(&bytes).replace('\n', "\r\n").into_bytes();
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, random: &mut SplitMix64) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len() as u64) as usize;
    match random.below(9) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = b"\n\r\0 ='#:*9-"[random.below(11) as usize],
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..bytes.len().min(at + 1 + random.below(40) as usize))),
        4 => {
            let segment = bytes[at..bytes.len().min(at + 1 + random.below(60) as usize)].to_vec();
            let to = random.below(bytes.len() as u64) as usize;
            bytes.splice(to..to, segment);
        }
        5 => bytes.insert(at, random.next_u64() as u8),
        // Numbers decide what is done, so they are changed as often as all the rest.
        _ => change_number(bytes, at, random),
    }
}

/// Puts another number in place of the next one.
fn change_number(bytes: &mut Vec<u8>, at: usize, random: &mut SplitMix64) {
    let Some(begin) = bytes[at..].iter().position(u8::is_ascii_digit).map(|length| at + length) else { return };
    let length = bytes[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let small = random.below(20_000).to_string();
    let number = if random.below(2) == 0 { &small } else { NUMBERS[random.below(NUMBERS.len() as u64) as usize] };
    bytes.splice(begin..begin + length, number.bytes());
}

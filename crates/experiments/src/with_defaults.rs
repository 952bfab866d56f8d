//! How the parameters of an experiment are declared.

/// Declares parameters with their defaults. A file of parameters may leave out any of them, and names no others.
macro_rules! with_defaults {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$of_field:meta])* pub $field:ident: $kind:ty = $default:expr),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$of_field])* pub $field: $kind),+
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default),+ }
            }
        }
    };
}

pub(crate) use with_defaults;

//! Why a volume can't be made.

/// As large as a volume in memory may be.
pub const MOST_BYTES: usize = 64 << 20;
/// As many files and directories as it may have.
pub const MOST_FILES: usize = 1000;

/// Why a volume can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// The label can't be written.
    #[error(
        "a volume can't be labelled {0:?}: a label has 1 to 16 letters, digits, dashes and underscores, like cidata and \
         config-2"
    )]
    Label(String),
    /// A name can't be written so that every system reads it alike.
    #[error(
        "a volume can't hold {path:?}: each part of a path has 1 to 64 printable ASCII characters without * : ; ? \" < > \
         | and \\, and is neither . nor .."
    )]
    Name {
        /// The whole path.
        path: String,
    },
    /// Directories are nested deeper than ISO 9660 lets them be.
    #[error("a volume can't hold {path:?}: seven directories may be nested, no more")]
    TooDeep {
        /// The whole path.
        path: String,
    },
    /// There are two of a name.
    #[error("a volume can't hold {path:?} twice, nor as a file and as a directory")]
    Twice {
        /// The whole path.
        path: String,
    },
    /// There are too many files.
    #[error("a volume may have {MOST_FILES} files and directories, no more")]
    TooMany,
    /// It would be too large.
    #[error(
        "a volume of {bytes} bytes is too large: {MOST_BYTES} are allowed. Put what is large on a server and let the \
         configuration fetch it"
    )]
    TooLarge {
        /// What it would have, at least.
        bytes: usize,
    },
    /// It would be larger than any volume.
    #[error("a volume of {bytes} bytes is too large: its format has room for {most}")]
    LargerThanAny {
        /// What it would have, at least.
        bytes: u64,
        /// What its format has room for.
        most: u64,
    },
    /// What it should be started from is not in it.
    #[error("a volume can't be started from {path:?}, which is no file of it")]
    NoBootImage {
        /// The path that was named.
        path: String,
    },
}

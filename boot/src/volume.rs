//! A small ISO made on the fly: the volume that an image looks for its configuration on, beside the image itself in a
//! second drive. What changes an image that somebody else made is not here.

pub mod contents;

pub use beskar7_volume::error::{MOST_BYTES, MOST_FILES, VolumeError};
pub use beskar7_volume::iso::{File, bootable_iso, iso};

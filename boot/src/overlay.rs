//! An installation image with kernel parameters of one host in it, of which nothing was copied.
//!
//! [`Image::inspect`] looks at an image once and finds its boot loader configuration. [`Image::with_arguments`] says,
//! for each host, which bytes have to differ: a [`Overlay`]. [`Overlay::over`] puts these over the image, and what
//! comes of it is again a [`Source`](crate::source::Source). All but the changed places is read from where it always was.
//!
//! Not for: making images, or changing anything but what a boot loader reads. Nothing here writes.

mod assembly;
mod checksums;
mod disk;
mod error;
mod fat;
mod fields;
mod image;
mod iso;
mod loader;
mod overlaid;
mod plan;
mod reader;

pub use error::OverlayError;
pub use image::Image;
pub use overlaid::{Overlaid, Overlay};

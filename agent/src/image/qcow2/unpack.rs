//! Packed clusters: each by itself.

use std::io::{self, ErrorKind, Read as _};

use flate2::{Decompress, FlushDecompress, Status};
use zstd::zstd_safe::{DCtx, ResetDirective, get_error_name};

use super::header::Packing;

/// Unpacks clusters, one after the other.
pub enum Unpacker {
    /// DEFLATE, without a header.
    Zlib(Box<Decompress>),
    /// zstd.
    Zstd(DCtx<'static>),
}

impl Unpacker {
    /// For clusters that are packed like this.
    pub fn new(packing: Packing) -> Self {
        match packing {
            Packing::Zlib => Self::Zlib(Box::new(Decompress::new(false))),
            Packing::Zstd => Self::Zstd(DCtx::create()),
        }
    }

    /// Unpacks a whole cluster. Behind it, there may be anything up to the end of the sector.
    ///
    /// # Errors
    /// It is damaged.
    pub fn unpack(&mut self, packed: &[u8], cluster: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Zlib(inflate) => {
                inflate.reset(false);
                let status = inflate.decompress(packed, cluster, FlushDecompress::Finish)?;
                let is_whole = inflate.total_out() == cluster.len() as u64;
                match status {
                    // A cluster that fills all of its room may say its end in bytes that nobody needs any more.
                    Status::Ok | Status::BufError | Status::StreamEnd if is_whole => Ok(()),
                    Status::Ok | Status::BufError | Status::StreamEnd => Err(ErrorKind::UnexpectedEof.into()),
                }
            }
            Self::Zstd(context) => {
                let reset = context.reset(ResetDirective::SessionOnly);
                reset.map_err(|code| io::Error::other(get_error_name(code)))?;
                zstd::Decoder::with_context(packed, context).single_frame().read_exact(cluster)
            }
        }
    }
}

//! stub
use super::{assembly::What, error::OverlayError, loader::Arguments, reader::Reader};
use bytes::Bytes;
use std::ops::Range;
/// stub
#[derive(Debug, Clone)]
pub struct Fat;
/// stub
pub struct Rebuilt {
    pub patches: Vec<(u64, Bytes)>,
    pub pieces: Vec<(u64, What)>,
    pub changed_files: Vec<String>,
    pub configuration: Vec<Range<u64>>,
}
impl Fat {
    pub async fn read(_r: &mut Reader<'_>, _s: u64) -> Result<Option<Self>, OverlayError> {
        Ok(None)
    }
    pub fn start(&self) -> u64 {
        0
    }
    pub fn length(&self) -> u64 {
        0
    }
    pub fn started_by_firmware(&self) -> Option<&str> {
        None
    }
    pub fn has_kernel(&self) -> bool {
        false
    }
    pub fn rebuild(&self, _a: &Arguments) -> Result<Option<Rebuilt>, OverlayError> {
        Ok(None)
    }
}

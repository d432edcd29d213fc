//! Disks in memory.

use std::{
    io,
    sync::{Arc, Mutex},
};

use crate::target::Device;

/// A disk in memory, that loses its power after so many bytes.
#[derive(Clone)]
pub struct Memory {
    pub bytes: Arc<Mutex<Vec<u8>>>,
    /// Bytes that can still be written.
    power: Arc<Mutex<Option<usize>>>,
    /// Bytes that were written.
    pub written: Arc<Mutex<usize>>,
}

impl Memory {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(Mutex::new(bytes)), power: Arc::default(), written: Arc::default() }
    }

    pub fn with_power(self, bytes: usize) -> Self {
        *self.power.lock().unwrap() = Some(bytes);
        self
    }

    pub fn content(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    fn put(&self, at: u64, count: usize, put: impl FnOnce(&mut [u8])) -> io::Result<()> {
        let mut power = self.power.lock().unwrap();
        let possible = power.unwrap_or(count).min(count);
        let at = usize::try_from(at).unwrap();
        let mut bytes = self.bytes.lock().unwrap();
        let place = bytes.get_mut(at..at + count).ok_or_else(|| io::Error::other("beyond the end"))?;
        put(&mut place[..possible]);
        *self.written.lock().unwrap() += possible;
        if let Some(left) = power.as_mut() {
            *left -= possible;
        }
        if possible < count { Err(io::Error::other("no power")) } else { Ok(()) }
    }
}

impl Device for Memory {
    fn length(&self) -> u64 {
        self.bytes.lock().unwrap().len() as u64
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let all = self.bytes.lock().unwrap();
        let at = usize::try_from(at).unwrap();
        bytes.copy_from_slice(
            all.get(at..at + bytes.len()).ok_or_else(|| io::Error::other("beyond the end"))?,
        );
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.put(at, bytes.len(), |place| place.copy_from_slice(&bytes[..place.len()]))
    }

    fn zero(&self, at: u64, length: u64) -> io::Result<()> {
        assert_eq!((at % 512, length % 512), (0, 0), "a disk knows sectors only");
        self.put(at, usize::try_from(length).unwrap(), |place| place.fill(0))
    }

    fn sync(&self) -> io::Result<()> {
        self.put(0, 0, |_| {})
    }
}

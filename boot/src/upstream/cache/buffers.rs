//! Memory that is read into, used again and again: fresh memory would have to be zeroed, and faulted in, for every piece.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// What is read at once: enough that a request costs little beside it, little enough to stay in a processor's cache.
pub(crate) const PIECE: usize = 128 << 10;
/// How many are kept when nobody uses them.
const FREE: usize = 64;

/// Buffers that nobody uses now.
#[derive(Default)]
pub(crate) struct Buffers {
    free: Mutex<Vec<Box<[u8]>>>,
}

/// A buffer that goes back when the last who reads it is done.
pub(crate) struct Buffer {
    bytes: Box<[u8]>,
    length: usize,
    home: Arc<Buffers>,
}

impl Buffers {
    /// A buffer for so many bytes, or for as many as one holds. What is in it is not defined.
    pub(crate) fn take(self: &Arc<Self>, length: usize) -> Buffer {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = free.unwrap_or_else(|| vec![0; PIECE].into_boxed_slice());
        Buffer { length: length.min(bytes.len()), bytes, home: self.clone() }
    }
}

impl Buffer {
    /// Where to read into.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..self.length).unwrap_or_default()
    }

    /// What was read: the first so many bytes.
    pub(crate) fn filled(mut self, length: usize) -> Bytes {
        self.length = self.length.min(length);
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut free = self.home.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < FREE {
            free.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_its_last_reader_is_done() {
        let buffers = Arc::new(Buffers::default());
        let mut buffer = buffers.take(5);
        buffer.space().copy_from_slice(b"12345");
        let read = buffer.filled(3);
        let part = read.slice(1..);
        drop(read);
        assert_eq!(part, "23");
        assert_eq!(buffers.free.lock().unwrap().len(), 0);
        drop(part);
        assert_eq!(buffers.free.lock().unwrap().len(), 1);
        assert_eq!(buffers.take(PIECE + 1).space().len(), PIECE);
    }
}

//! How a simulated firmware reads an image: really, by HTTP, and only the beginning.

use std::time::Duration;

use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use reqwest::{Client, Response, StatusCode};

use crate::machine::MediaRead;

/// How much is read of each image: as much as holds the volume descriptors of an ISO.
pub const FIRST_BYTES: u64 = 64 * 1024;
const LIMIT: Duration = Duration::from_secs(10);

/// Reads for a whole fleet.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    client: Client,
}

impl Reader {
    /// A reader that takes any certificate: firmware knows no private CA, and a simulator guards
    /// nothing.
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        let client = Client::builder().no_proxy().timeout(LIMIT).tls_danger_accept_invalid_certs(true);
        Ok(Self { client: client.build()? })
    }

    /// Reads the first bytes of a URL, and says what came.
    pub(crate) async fn read(&self, url: &str) -> MediaRead {
        let mut read = MediaRead {
            url: url.to_owned(),
            bytes: 0,
            total: None,
            ranged: false,
            boots: false,
            error: None,
        };
        let range = format!("bytes=0-{}", FIRST_BYTES - 1);
        match self.client.get(url).header(RANGE, range).send().await {
            Err(error) => read.error = Some(describe(&error)),
            Ok(response) if !response.status().is_success() => {
                read.error = Some(format!("the server answered {}", response.status()));
            }
            Ok(response) => take(response, &mut read).await,
        }
        read
    }
}

async fn take(mut response: Response, read: &mut MediaRead) {
    read.ranged = response.status() == StatusCode::PARTIAL_CONTENT;
    read.total = total(&response, read.ranged);
    let mut descriptors = Descriptors::default();
    while read.bytes < FIRST_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                descriptors.look(read.bytes, &chunk);
                read.bytes += chunk.len() as u64;
            }
            Ok(None) => break,
            Err(error) => {
                read.error = Some(describe(&error));
                break;
            }
        }
    }
    read.boots = descriptors.boot();
    if read.bytes == 0 && read.error.is_none() {
        read.error = Some("the image is empty".to_owned());
    }
}

/// The beginnings of an ISO's volume descriptors. No more is kept of an image: many machines read at once.
#[derive(Debug, Default)]
struct Descriptors {
    heads: [[u8; 16]; 16],
}

impl Descriptors {
    const SECTOR: u64 = 2048;
    const FIRST: u64 = 16;
    const MARK: &[u8] = b"CD001";
    const BOOT_RECORD: &[u8] = b"\0CD001\x01EL TORITO";
    const LAST: u8 = 255;

    /// Keeps what belongs to them of a chunk that begins `at` so many bytes.
    fn look(&mut self, at: u64, chunk: &[u8]) {
        for (sector, head) in (Self::FIRST..).zip(&mut self.heads) {
            for (place, byte) in (sector * Self::SECTOR..).zip(head) {
                let within = place.checked_sub(at).and_then(|within| usize::try_from(within).ok());
                if let Some(read) = within.and_then(|within| chunk.get(within)) {
                    *byte = *read;
                }
            }
        }
    }

    /// Whether firmware finds something to start: in an ISO only by a boot record. What is no ISO may be a disk with
    /// partitions or a program, and is believed.
    fn boot(&self) -> bool {
        let is_descriptor = |head: &&[u8; 16]| {
            head.split_first().is_some_and(|(kind, rest)| *kind != Self::LAST && rest.starts_with(Self::MARK))
        };
        let mut descriptors = self.heads.iter().take_while(is_descriptor).peekable();
        descriptors.peek().is_none() || descriptors.any(|head| head.starts_with(Self::BOOT_RECORD))
    }
}

/// The size of the whole image, from `Content-Range: bytes 0-65535/1234567` or `Content-Length`.
fn total(response: &Response, ranged: bool) -> Option<u64> {
    let text = |name| response.headers().get(name)?.to_str().ok();
    if ranged {
        text(CONTENT_RANGE)?.rsplit_once('/')?.1.parse().ok()
    } else {
        text(CONTENT_LENGTH)?.parse().ok()
    }
}

/// An error with its causes: reqwest's own text stops before the interesting part.
fn describe(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(descriptors: &[&[u8]]) -> Vec<u8> {
        let mut image = vec![0; 32 * 1024];
        for descriptor in descriptors {
            image.extend_from_slice(descriptor);
            image.resize(image.len().next_multiple_of(2048), 0);
        }
        image.resize(64 * 1024, 0);
        image
    }

    #[test]
    fn an_iso_is_started_only_with_a_boot_record() {
        let (primary, boot, end): (&[u8], &[u8], &[u8]) =
            (b"\x01CD001\x01", b"\0CD001\x01EL TORITO SPECIFICATION", b"\xffCD001\x01");
        for (descriptors, boots) in [
            (vec![primary, boot, end], true),
            (vec![primary, b"\x02CD001\x01", boot, end], true),
            (vec![primary, end], false),
            (vec![primary, b"\0CD001\x01OTHER", end], false),
            (vec![primary, end, boot], false),
            (vec![], true),
        ] {
            let image = image(&descriptors);
            for size in [1, 7, 2048, 5000, image.len()] {
                let mut seen = Descriptors::default();
                for (number, chunk) in image.chunks(size).enumerate() {
                    seen.look((number * size) as u64, chunk);
                }
                assert_eq!(seen.boot(), boots, "{descriptors:?} in chunks of {size}");
            }
        }
    }
}

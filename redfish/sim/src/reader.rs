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
        let mut read = MediaRead { url: url.to_owned(), bytes: 0, total: None, ranged: false, error: None };
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
    while read.bytes < FIRST_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => read.bytes += chunk.len() as u64,
            Ok(None) => break,
            Err(error) => {
                read.error = Some(describe(&error));
                break;
            }
        }
    }
    if read.bytes == 0 && read.error.is_none() {
        read.error = Some("the image is empty".to_owned());
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

//! Small answers that are read as a whole: a manifest, a token. No server makes us read more, or wait for long.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use tokio::time::timeout;

use super::error::{Why, told};
use super::web::Answer;

/// How long one may take from its first byte to its last.
const WHOLE: Duration = Duration::from_secs(60);

/// A small answer.
pub(crate) struct Document {
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Document {
    /// Reads an answer, if it is one.
    pub(crate) async fn read(answer: Answer, limit: usize) -> Result<Self, Why> {
        let mut response = answer.response;
        if response.status() != StatusCode::OK {
            return Err(Why::Status(response.status()));
        }
        let mut bytes = BytesMut::new();
        let reading = async {
            while let Some(chunk) = response.chunk().await.map_err(|error| Why::Unreachable(told(error)))? {
                if bytes.len().saturating_add(chunk.len()) > limit {
                    return Err(Why::Answer(format!("the answer is longer than {limit} bytes")));
                }
                bytes.extend_from_slice(&chunk);
            }
            Ok(())
        };
        timeout(WHOLE, reading).await.unwrap_or_else(|_| {
            let waited = WHOLE.as_secs();
            Err(Why::Unreachable(format!("the server did not end its answer within {waited} s")))
        })?;
        Ok(Self { headers: std::mem::take(response.headers_mut()), bytes: bytes.freeze() })
    }
}

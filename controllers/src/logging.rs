//! Where log lines go and what they look like: stderr, one line per event, text or JSON.
//!
//! What is worth logging is decided where it happens; secrets never get here.

use std::io::{self, IsTerminal as _, Write};

use tracing_subscriber::{
    EnvFilter, fmt::MakeWriter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::options::{LogFormat, Logging};

/// The environment variable that overrules the verbosity, in the notation of `RUST_LOG`.
pub const FILTER_VARIABLE: &str = "BESKAR7_LOG";

/// Why logs can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The override is not a filter.
    #[error(
        "{FILTER_VARIABLE} is not a log filter: write one such as info,beskar7_controllers=debug, or unset it"
    )]
    Filter(#[source] tracing_subscriber::filter::ParseError),
    /// Somebody was here first.
    #[error("logs are set up already")]
    Twice(#[source] tracing_subscriber::util::TryInitError),
}

/// Sets up the process's logs.
///
/// # Errors
/// The override in [`FILTER_VARIABLE`] can't be read, or logs were set up before.
pub fn init(logging: &Logging) -> Result<(), LoggingError> {
    let overrule = std::env::var(FILTER_VARIABLE).ok().filter(|filter| !filter.is_empty());
    let filter = match &overrule {
        Some(filter) => EnvFilter::try_new(filter),
        None => EnvFilter::try_new(filter_of(logging.v)),
    }
    .map_err(LoggingError::Filter)?;
    let registry = tracing_subscriber::registry().with(filter);
    match logging.logging_format {
        LogFormat::Text => registry
            .with(
                tracing_subscriber::fmt::layer()
                    .with_writer(OneLine(io::stderr))
                    .with_ansi(io::stderr().is_terminal()),
            )
            .try_init(),
        LogFormat::Json => registry
            .with(
                tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(OneLine(io::stderr)),
            )
            .try_init(),
    }
    .map_err(LoggingError::Twice)
}

/// What klog's levels mean here. Libraries stay steps behind us; at these levels none of them logs bodies or headers.
fn filter_of(verbosity: u8) -> String {
    let (ours, kube, libraries) = match verbosity {
        0..=3 => ("info", "warn", "warn"),
        4..=5 => ("debug", "info", "info"),
        6..=8 => ("trace", "debug", "info"),
        9..=u8::MAX => ("trace", "debug", "debug"),
    };
    format!(
        "{libraries},kube_client={kube},kube_runtime={kube},\
         beskar7_api={ours},beskar7_boot={ours},beskar7_controllers={ours},beskar7_core={ours}"
    )
}

/// Writes an event as one line, whatever texts it carries.
struct OneLine<M>(M);

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for OneLine<M> {
    type Writer = OneLine<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        OneLine(self.0.make_writer())
    }
}

impl<W: Write> Write for OneLine<W> {
    /// The formatter hands over one event per call, with the newline that ends it.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let body = event.strip_suffix(b"\n").unwrap_or(event);
        if body.contains(&b'\n') {
            let mut line = Vec::with_capacity(event.len() + 16);
            for (n, part) in body.split(|byte| *byte == b'\n').enumerate() {
                if n > 0 {
                    line.extend_from_slice(b"\\n");
                }
                line.extend_from_slice(part);
            }
            line.push(b'\n');
            self.0.write_all(&line)?;
        } else {
            self.0.write_all(event)?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let mut out = OneLine(Vec::new());
        out.write_all(b"INFO two\nlines\n").unwrap();
        out.write_all(b"INFO one\n").unwrap();
        assert_eq!(String::from_utf8(out.0).unwrap(), "INFO two\\nlines\nINFO one\n");
    }

    #[test]
    fn verbosity_grows_and_parses() {
        for (verbosity, ours) in
            [(0, "info"), (2, "info"), (3, "info"), (4, "debug"), (6, "trace"), (10, "trace")]
        {
            let filter = filter_of(verbosity);
            assert!(filter.contains(&format!("beskar7_controllers={ours}")), "{verbosity}: {filter}");
            EnvFilter::try_new(&filter).unwrap();
        }
    }
}

//! What the agent is told on its kernel's command line.

use beskar7_agent_protocol::command_line::{ADDRESS, INTERFACE, URL};
use url::Url;

use crate::network::{Addressing, Mac, MacError, WrongAddressing};

/// What is said there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Where the boot server is, for this machine. It ends in a slash.
    pub url: Url,
    /// The interface to use; without it, each that has a link is tried.
    pub interface: Option<Mac>,
    /// A fixed address; without it, DHCP is asked.
    pub address: Option<Addressing>,
}

/// Why nothing can be done with a command line. The URL is not repeated: who has it is taken for this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// Nobody says where the server is.
    #[error("the kernel's command line has no {URL}: add it, it is the machine's URL on the boot server")]
    NoUrl,
    /// What stands there is no URL.
    #[error("{URL} on the kernel's command line is no URL: {0}")]
    NotAUrl(String),
    /// It is not for HTTP.
    #[error("{URL} on the kernel's command line begins with {0}: only http and https are spoken")]
    Scheme(String),
    /// What stands there is no MAC address.
    #[error("{INTERFACE} on the kernel's command line: {0}")]
    Interface(MacError),
    /// What stands there is no address.
    #[error("{ADDRESS} on the kernel's command line: {0}")]
    Address(WrongAddressing),
}

impl CommandLine {
    /// Reads what `/proc/cmdline` has. Of the same word twice the last one counts: what a person adds stands behind what
    /// was there. One without a value is as if it were not there.
    ///
    /// # Errors
    /// The server's URL is missing, or something that is there can't be understood.
    pub fn parse(text: &str) -> Result<Self, CommandLineError> {
        let words = words(text);
        let url = machine_url(&last(&words, URL).ok_or(CommandLineError::NoUrl)?)?;
        let interface = last(&words, INTERFACE).map(|value| value.parse()).transpose();
        let address = last(&words, ADDRESS).map(|value| value.parse()).transpose();
        Ok(Self {
            url,
            interface: interface.map_err(CommandLineError::Interface)?,
            address: address.map_err(CommandLineError::Address)?,
        })
    }
}

/// A machine's URL, with a slash at its end: without one, its last part would be taken away when a path is joined to it.
fn machine_url(text: &str) -> Result<Url, CommandLineError> {
    let text = if text.ends_with('/') { text.to_owned() } else { format!("{text}/") };
    let url: Url =
        text.parse().map_err(|error: url::ParseError| CommandLineError::NotAUrl(error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(CommandLineError::Scheme(other.to_owned())),
    }
}

/// The last value that a name has.
fn last(words: &[String], name: &str) -> Option<String> {
    let mut values = words.iter().filter_map(|word| word.split_once('='));
    let value = values.rfind(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
    value.filter(|value| !value.is_empty())
}

/// As the kernel takes it apart: at white space that is not within double quotes, which are left out.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            space if space.is_whitespace() && !is_quoted => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTTP: &str = "beskar7.url=http://10.0.0.1:8080/c/abc/";

    #[test]
    fn everything_that_is_said_is_read() {
        let text = "BOOT_IMAGE=/vmlinuz quiet beskar7.url=https://boot.test/c/abc/ beskar7.mac=52:54:00:AB:00:01 \
                    beskar7.ip=10.0.0.5/24,10.0.0.1,10.0.0.2 console=ttyS0\n";
        let read = CommandLine::parse(text).unwrap();
        assert_eq!(read.url.as_str(), "https://boot.test/c/abc/");
        assert_eq!(read.interface, Some(Mac([0x52, 0x54, 0, 0xab, 0, 1])));
        assert_eq!(read.address, Some("10.0.0.5/24,10.0.0.1,10.0.0.2".parse().unwrap()));
    }

    #[test]
    fn words_are_taken_apart_as_the_kernel_does_it() {
        for (text, expected) in [
            (format!("{HTTP}\n"), "http://10.0.0.1:8080/c/abc/"),
            ("beskar7.url=\"http://a/c/1/\"".to_owned(), "http://a/c/1/"),
            ("\"beskar7.url=http://a/c/1/\" x=\"y z".to_owned(), "http://a/c/1/"),
            ("x=\"beskar7.url=http://no/ y\" beskar7.url=http://a/".to_owned(), "http://a/"),
            // The last one counts, and the slash at the end is never missing.
            (format!("{HTTP} quiet beskar7.url=http://b/c/2"), "http://b/c/2/"),
        ] {
            let read = CommandLine::parse(&text).unwrap();
            assert_eq!(read.url.as_str(), expected, "{text}");
            assert_eq!((read.interface, read.address), (None, None), "{text}");
        }
    }

    #[test]
    fn what_can_not_be_understood_is_told_by_its_name() {
        for (text, expected) in [
            (String::new(), "has no beskar7.url"),
            ("quiet beskar7.url= beskar7.urls=http://a/".to_owned(), "has no beskar7.url"),
            ("beskar7.url=c/abc".to_owned(), "beskar7.url on the kernel's command line is no URL"),
            ("beskar7.url=ftp://a/".to_owned(), "begins with ftp"),
            (format!("{HTTP} beskar7.mac=eth0"), "beskar7.mac on"),
            (format!("{HTTP} beskar7.ip=10.0.0.5"), "beskar7.ip on"),
        ] {
            let error = CommandLine::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("c/abc"), "{error}");
        }
    }
}

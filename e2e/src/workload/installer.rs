//! What a simulated machine does with the image that it was started from: it reads the boot loader's configuration in it,
//! as GRUB would, and the configuration that the kernel parameters name, as an installer would.

use std::ops::Range;

use anyhow::{Context, Result, ensure};
use reqwest::header::RANGE;
use reqwest::{Client, StatusCode};

use crate::images::LOADER_CONFIGURATION;
use crate::probe;

const SECTOR: u64 = 2048;
/// Where the first volume descriptor is, and the record of the root directory in it.
const DESCRIPTOR: u64 = 16 * SECTOR;
const ROOT: Range<usize> = 156..190;

/// Kernel parameters that name a configuration.
const PARAMETERS: [&str; 4] = ["config_url=", "ignition.config.url=", "talos.config=", "b7.config="];

/// What an installer has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installer {
    /// Its kernel parameters.
    pub parameters: Vec<String>,
    /// Its configuration, where the parameters name one.
    pub configuration: Option<String>,
}

impl Installer {
    /// Reads what an image has for this boot.
    pub async fn read(url: &str) -> Result<Self> {
        let client = probe::client(None)?;
        let image = Image { client: client.clone(), url };
        let text = image.file(LOADER_CONFIGURATION).await.context("the boot loader's configuration")?;
        let parameters = kernel_parameters(&String::from_utf8(text)?).context("no kernel line")?;
        let named = |parameter: &String| {
            PARAMETERS.iter().find_map(|name| parameter.strip_prefix(name)).map(str::to_owned)
        };
        let configuration = match parameters.iter().find_map(named) {
            Some(url) => {
                let answer = client.get(url).send().await.context("its configuration")?;
                ensure!(answer.status().is_success(), "its configuration: {}", answer.status());
                Some(answer.text().await?)
            }
            None => None,
        };
        Ok(Self { parameters, configuration })
    }

    /// The directory that cloud-init reads its configuration from, where the kernel parameters name one.
    pub fn seed(&self) -> Option<&str> {
        self.parameters.iter().find_map(|parameter| parameter.strip_prefix("ds=nocloud;s="))
    }

    /// The identity that its configuration gives to its kubelet.
    pub fn provider_id(&self) -> Option<String> {
        let text = self.configuration.as_deref()?;
        let at = text.find("b7://")?;
        let id = text.get(at..)?.split(['\'', '"', ' ', '\n', '\\']).next()?;
        Some(id.to_owned())
    }
}

/// The words behind the first kernel line, without GRUB's quotes.
fn kernel_parameters(configuration: &str) -> Option<Vec<String>> {
    let line = configuration.lines().find_map(|line| line.trim().strip_prefix("linux "))?;
    Some(line.split_whitespace().skip(1).map(|word| word.replace('\'', "")).collect())
}

/// An ISO behind a URL, read by range.
struct Image<'a> {
    client: Client,
    url: &'a str,
}

/// Where something is in it.
#[derive(Debug, Clone, Copy)]
struct Extent {
    start: u64,
    length: u64,
}

impl Image<'_> {
    async fn at(&self, start: u64, length: u64) -> Result<Vec<u8>> {
        let range = format!("bytes={start}-{}", start + length - 1);
        let answer = self.client.get(self.url).header(RANGE, range).send().await?;
        ensure!(
            answer.status() == StatusCode::PARTIAL_CONTENT,
            "the image's server said {}",
            answer.status()
        );
        let bytes = answer.bytes().await?.to_vec();
        ensure!(bytes.len() as u64 == length, "{} bytes came instead of {length}", bytes.len());
        Ok(bytes)
    }

    /// A file of the plain tree.
    async fn file(&self, path: &str) -> Result<Vec<u8>> {
        let descriptor = self.at(DESCRIPTOR, SECTOR).await?;
        ensure!(descriptor.get(1..6) == Some(b"CD001"), "no ISO 9660");
        let mut here = extent(descriptor.get(ROOT).context("no root directory")?)?;
        for part in path.split('/') {
            let directory = self.at(here.start, here.length).await?;
            here = find(&directory, part).with_context(|| format!("no {part} of {path}"))?;
        }
        self.at(here.start, here.length).await
    }
}

fn extent(record: &[u8]) -> Result<Extent> {
    let number = |at: usize| -> Result<u64> {
        let bytes = record.get(at..at + 4).context("a short record")?;
        Ok(u32::from_le_bytes(bytes.try_into()?).into())
    };
    Ok(Extent { start: number(2)? * SECTOR, length: number(10)? })
}

/// The record of a name in a directory. A record never crosses the end of a sector: behind the last one there are zeros.
fn find(directory: &[u8], name: &str) -> Option<Extent> {
    let wanted = name.to_uppercase();
    directory.chunks(SECTOR as usize).find_map(|sector| {
        let mut rest = sector;
        while let Some(length) = rest.first().map(|length| usize::from(*length)).filter(|length| *length > 33)
        {
            let record = rest.get(..length)?;
            let end = 33 + usize::from(*record.get(32)?);
            let found = String::from_utf8_lossy(record.get(33..end)?);
            if found.split(';').next() == Some(&wanted) {
                return extent(record).ok();
            }
            rest = rest.get(length..)?;
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images;

    #[tokio::test]
    async fn an_image_is_read_as_a_boot_loader_reads_it() {
        let url = format!("{}/node.iso", images::serve().await.unwrap());
        let read = Installer::read(&url).await.unwrap();
        assert_eq!(read, Installer { parameters: vec!["quiet".into(), "---".into()], configuration: None });
    }

    #[test]
    fn parameters_and_identity_are_found() {
        let parameters = kernel_parameters("x\n  linux /v 'a=b;c' d ---\n").unwrap();
        assert_eq!(parameters, ["a=b;c", "d", "---"]);
        let configuration = Some("args:\n- name: provider-id\n  value: 'b7://metal/h'\n".to_owned());
        assert_eq!(Installer { parameters, configuration }.provider_id().as_deref(), Some("b7://metal/h"));
    }
}

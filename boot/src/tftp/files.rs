//! The files that are served: those of one directory, loaded once. A name is looked up and never followed, so that no path
//! leads anywhere else.

use std::{collections::HashMap, fs, io, path::Path, sync::Arc};

use bytes::Bytes;

/// Boot loaders are smaller.
const LARGEST: u64 = 16 << 20;
const MOST: usize = 256;

/// Files by their names; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Files(Arc<HashMap<String, Bytes>>);

impl Files {
    /// These.
    #[must_use]
    pub fn new(files: impl IntoIterator<Item = (String, Bytes)>) -> Self {
        Self(Arc::new(files.into_iter().collect()))
    }

    /// Loads the files of a directory; not of those in it. What is too large for a boot loader is left out.
    ///
    /// # Errors
    /// It can't be read.
    pub fn load(directory: &Path) -> io::Result<Self> {
        let mut files = HashMap::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let about = fs::metadata(&path)?;
            let name = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
            let Some(name) = name.filter(|_| about.is_file()) else { continue };
            if about.len() > LARGEST || files.len() == MOST {
                tracing::warn!(file = name, bytes = about.len(), "not served: too large, or too many");
                continue;
            }
            files.insert(name, Bytes::from(fs::read(&path)?));
        }
        Ok(Self(Arc::new(files)))
    }

    /// A file, by its name; firmware may write a slash before it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Bytes> {
        self.0.get(name.trim_start_matches('/')).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_directory_are_there() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("served");
        fs::create_dir_all(inside.join("deeper")).unwrap();
        fs::write(place.path().join("secret"), "no").unwrap();
        fs::write(inside.join("snponly.efi"), "yes").unwrap();
        fs::write(inside.join("deeper").join("file"), "no").unwrap();
        let files = Files::load(&inside).unwrap();
        for name in ["snponly.efi", "/snponly.efi", "//snponly.efi"] {
            assert_eq!(files.get(name).as_deref(), Some(&b"yes"[..]), "{name}");
        }
        for name in [
            "",
            "/",
            ".",
            "..",
            "../secret",
            "deeper",
            "deeper/file",
            "./snponly.efi",
            "SNPONLY.EFI",
            "a\\..\\secret",
        ] {
            assert_eq!(files.get(name), None, "{name}");
        }
        assert!(Files::load(&place.path().join("nowhere")).is_err());
    }
}

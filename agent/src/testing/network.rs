//! What is fetched, and who is told.

use std::{
    collections::HashMap,
    io::{self, Cursor, Read},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use beskar7_agent_protocol::report::Progress;

use crate::{
    fetching::{Fetch, FetchError, Fetched},
    telling::Telling,
};

/// Files by their paths, and what was asked for.
#[derive(Default)]
pub struct Files {
    files: Mutex<HashMap<String, Vec<u8>>>,
    /// Whether it is said how long they are.
    pub hides_length: bool,
    /// Where bodies end in an error.
    pub breaks_at: Option<usize>,
    /// What a file is when it is opened this often.
    pub changes: Option<(usize, Vec<u8>)>,
    pub opened: Mutex<Vec<(String, u64)>>,
}

impl Files {
    pub fn new(files: &[(&str, &[u8])]) -> Self {
        let files = files.iter().map(|(path, content)| ((*path).to_owned(), content.to_vec())).collect();
        Self { files: Mutex::new(files), ..Self::default() }
    }
}

impl Fetch for Files {
    fn open(&self, path: &str, from: u64) -> Result<Fetched, FetchError> {
        let mut opened = self.opened.lock().unwrap();
        opened.push((path.to_owned(), from));
        let mut files = self.files.lock().unwrap();
        if let Some((count, content)) = &self.changes
            && opened.len() == *count
        {
            files.insert(path.to_owned(), content.clone());
        }
        let content = files.get(path).ok_or_else(|| FetchError::Refused(format!("no {path}")))?;
        let from = usize::try_from(from).unwrap();
        let rest = content.get(from..).filter(|rest| from == 0 || !rest.is_empty());
        let rest = rest.ok_or_else(|| FetchError::Refused("behind the end".into()))?;
        let total = (!self.hides_length).then_some(content.len() as u64);
        let left = self.breaks_at.map(|at| at.saturating_sub(from));
        Ok(Fetched { body: Box::new(Body { rest: Cursor::new(rest.to_vec()), left }), total })
    }
}

/// Comes in pieces of odd lengths, as from a network.
struct Body {
    rest: Cursor<Vec<u8>>,
    left: Option<usize>,
}

impl Read for Body {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = bytes.len().min(70_001);
        let most = self.left.map_or(most, |left| most.min(left));
        if most == 0 && !bytes.is_empty() {
            return Err(io::Error::other(FetchError::Unreachable("the server is gone".into())));
        }
        let count = self.rest.read(&mut bytes[..most])?;
        self.left = self.left.map(|left| left - count);
        Ok(count)
    }
}

/// Somebody who remembers all, and wants no more after being asked often enough.
#[derive(Default)]
pub struct Told {
    pub progress: Mutex<Vec<Progress>>,
    pub lines: Mutex<Vec<String>>,
    pub patience: Option<usize>,
    asked: AtomicUsize,
}

impl Telling for Told {
    fn progress(&self, progress: Progress) {
        self.progress.lock().unwrap().push(progress);
    }

    fn log(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
    }

    fn is_unwanted(&self) -> bool {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        self.patience.is_some_and(|patience| asked >= patience)
    }
}

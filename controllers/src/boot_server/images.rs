//! The images that are presented with changes: opened where they are, looked into once, and changed for each claim.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use beskar7_boot::{
    overlay::{Image, Overlay, OverlayError},
    source::Source,
    upstream::{Upstream, UpstreamError, Upstreams},
};

/// So many images are kept open, and so many changed ones: a rack boots from few images, each machine from its own
/// changed one.
const MOST_OPEN: usize = 32;
const MOST_CHANGED: usize = 1024;
/// And no more than so many bytes of changes: they are made anew from an image that is open.
const MOST_CHANGES: usize = 64 << 20;

/// Why an image can't be presented.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It can't be opened.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// It can't be changed.
    #[error(transparent)]
    Overlay(#[from] OverlayError),
    /// It is not what it was when the machine was made ready.
    #[error("the image has changed since the machine was made ready")]
    Changed,
}

impl ImageError {
    /// Whether trying again may help.
    #[must_use]
    pub fn passes(&self) -> bool {
        match self {
            Self::Upstream(error) => error.is_passing(),
            Self::Overlay(OverlayError::Source(_)) => true,
            Self::Overlay(
                OverlayError::NotIso(_)
                | OverlayError::Damaged(_)
                | OverlayError::TooMuch { .. }
                | OverlayError::NothingToChange
                | OverlayError::UnifiedKernel(_)
                | OverlayError::Full(_)
                | OverlayError::TooLarge
                | OverlayError::Argument { .. },
            )
            | Self::Changed => false,
        }
    }
}

/// An image that was opened.
struct Opened {
    upstream: Upstream,
    image: Image,
}

/// An image as it is presented to one machine.
#[derive(Clone)]
pub struct Presented {
    /// Which content it is of.
    pub pin: String,
    /// Its bytes.
    pub source: Arc<dyn Source>,
    /// What was changed.
    pub overlay: Arc<Overlay>,
}

/// Which content, and by which URL it is read. The pin alone leaves credentials out, and with it alone they would never be
/// rotated; and who names a pin would be given what only another one's URL leads to. The URL may hold a password: this has
/// no `Debug`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Content {
    /// As it was written.
    url: String,
    pin: String,
}

/// The images that are presented.
pub struct Images {
    upstreams: Upstreams,
    open: Mutex<Kept<Content, Arc<Opened>>>,
    changed: Mutex<Kept<(Content, Vec<String>), Presented>>,
}

impl Images {
    /// None yet.
    #[must_use]
    pub fn new(upstreams: Upstreams) -> Self {
        Self {
            upstreams,
            open: Mutex::new(Kept::new(MOST_OPEN)),
            changed: Mutex::new(Kept::within(MOST_CHANGED, MOST_CHANGES, |presented: &Presented| {
                presented.overlay.held()
            })),
        }
    }

    /// Opens what is at a URL now, and presents it with these kernel parameters.
    ///
    /// # Errors
    /// It can't be opened or changed.
    pub async fn prepare(&self, url: &str, arguments: &[String]) -> Result<Presented, ImageError> {
        let upstream = self.upstreams.open(url).await?;
        let content = Content { url: url.to_owned(), pin: upstream.pin().to_string() };
        let known = lock(&self.open).get(&content);
        let opened = match known {
            Some(opened) => opened,
            None => self.look_into(upstream, content.clone()).await?,
        };
        self.change(content, &opened, arguments)
    }

    /// Presents the content that a machine was made ready for, and no other.
    ///
    /// # Errors
    /// It can't be opened or changed, or is another one by now.
    pub async fn present(&self, url: &str, pin: &str, arguments: &[String]) -> Result<Presented, ImageError> {
        let content = Content { url: url.to_owned(), pin: pin.to_owned() };
        if let Some(presented) = lock(&self.changed).get(&(content.clone(), arguments.to_vec())) {
            return Ok(presented);
        }
        let known = lock(&self.open).get(&content);
        let opened = match known {
            Some(opened) => opened,
            None => {
                let upstream = self.upstreams.open(url).await?;
                if upstream.pin().to_string() != pin {
                    return Err(ImageError::Changed);
                }
                self.look_into(upstream, content.clone()).await?
            }
        };
        self.change(content, &opened, arguments)
    }

    async fn look_into(&self, upstream: Upstream, content: Content) -> Result<Arc<Opened>, ImageError> {
        let image = Image::inspect(&upstream).await?;
        let opened = Arc::new(Opened { upstream, image });
        lock(&self.open).put(content, opened.clone());
        Ok(opened)
    }

    fn change(
        &self,
        content: Content,
        opened: &Opened,
        arguments: &[String],
    ) -> Result<Presented, ImageError> {
        let pin = content.pin.clone();
        let key = (content, arguments.to_vec());
        if let Some(presented) = lock(&self.changed).get(&key) {
            return Ok(presented);
        }
        let overlay = Arc::new(opened.image.with_arguments(arguments)?);
        let source = Arc::new(overlay.clone().over(Arc::new(opened.upstream.clone())));
        let presented = Presented { pin, source, overlay };
        lock(&self.changed).put(key, presented.clone());
        Ok(presented)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps so many, and of more those that were used last.
pub(super) struct Kept<K, V> {
    most: usize,
    /// How heavy all together may be, and how heavy each is.
    heaviest: usize,
    weigh: fn(&V) -> usize,
    weight: usize,
    uses: u64,
    all: HashMap<K, (u64, V)>,
}

impl<K: std::hash::Hash + Eq + Clone, V: Clone> Kept<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self::within(most, usize::MAX, |_| 0)
    }

    /// The same, and no more than is as heavy as this together; but always the last.
    pub(super) fn within(most: usize, heaviest: usize, weigh: fn(&V) -> usize) -> Self {
        Self { most, heaviest, weigh, weight: 0, uses: 0, all: HashMap::new() }
    }

    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        self.uses += 1;
        let (used, value) = self.all.get_mut(key)?;
        *used = self.uses;
        Some(value.clone())
    }

    pub(super) fn forget(&mut self, key: &K) {
        if let Some((_, value)) = self.all.remove(key) {
            self.weight -= (self.weigh)(&value);
        }
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        self.forget(&key);
        self.uses += 1;
        self.weight += (self.weigh)(&value);
        self.all.insert(key, (self.uses, value));
        while self.all.len() > self.most || (self.all.len() > 1 && self.weight > self.heaviest) {
            let oldest = self.all.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.forget(&oldest);
        }
    }
}

#[cfg(test)]
#[path = "images_tests.rs"]
mod tests;

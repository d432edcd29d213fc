use futures::StreamExt as _;

use super::*;
use crate::{overlay::assembly::Assembly, source::read};

fn overlay() -> (Bytes, Arc<Overlay>) {
    let original: Bytes = (0..200_u8).collect();
    let mut assembly = Assembly::new(200);
    assembly.patch(10, "changed");
    assembly.align(256);
    assembly.append(20, What::Original(100));
    assembly.append(6, What::Memory(Bytes::from_static(b"behind")));
    let overlay = Overlay {
        original: 200,
        length: assembly.end(),
        pieces: assembly.finish().unwrap(),
        changed_files: Vec::new(),
        loader_configuration: Vec::new(),
    };
    (original, Arc::new(overlay))
}

#[tokio::test]
async fn every_range_is_the_same_part_of_the_whole() {
    let (original, overlay) = overlay();
    let mut whole = original.to_vec();
    whole[10..17].copy_from_slice(b"changed");
    whole.resize(256, 0);
    whole.extend_from_slice(&original[100..120]);
    whole.extend_from_slice(b"behind");
    let presented = overlay.over(Arc::new(original));
    assert_eq!(presented.length(), whole.len() as u64);
    for start in 0..whole.len() {
        for end in start..=whole.len() {
            let got = read(&presented, start as u64..end as u64).await.unwrap();
            assert_eq!(got, whole[start..end], "{start}..{end}");
        }
    }
}

/// Breaks off in its middle.
struct Broken;

impl Source for Broken {
    fn length(&self) -> u64 {
        200
    }

    fn stream(&self, _: Range<u64>) -> Chunks {
        let error = SourceError::Unreadable { what: "it".to_owned(), why: "gone".to_owned() };
        stream::iter([Ok(Bytes::from_static(b"some")), Err(error)]).boxed()
    }
}

#[tokio::test]
async fn nothing_comes_after_an_error() {
    let (_, overlay) = overlay();
    let chunks: Vec<_> = overlay.over(Arc::new(Broken)).stream(0..280).collect().await;
    assert_eq!(chunks.len(), 2);
    assert!(chunks[0].is_ok() && chunks[1].is_err(), "{chunks:?}");
}

#[tokio::test]
async fn another_image_and_bytes_that_are_not_there_are_refused() {
    let (original, overlay) = overlay();
    let other = original.slice(0..199);
    let error = read(&overlay.clone().over(Arc::new(other)), 0..1).await.unwrap_err();
    assert!(matches!(error, SourceError::Changed(_)), "{error}");
    let error = read(&overlay.over(Arc::new(original)), 280..283).await.unwrap_err();
    assert!(matches!(error, SourceError::OutOfRange { length: 282, .. }), "{error}");
}

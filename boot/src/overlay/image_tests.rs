use super::*;
use crate::volume::{File as VolumeFile, iso};

async fn inspect(files: &[(&'static str, String)]) -> Result<Image, OverlayError> {
    let files: Vec<VolumeFile<'_>> =
        files.iter().map(|(path, text)| VolumeFile { path, content: text.clone().into() }).collect();
    Image::inspect(&iso("X", &files).unwrap()).await
}

fn refused(inspected: Result<Image, OverlayError>) -> Option<&'static str> {
    match inspected {
        Err(OverlayError::TooMuch { what, .. }) => Some(what),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    }
}

#[tokio::test]
async fn of_an_image_no_more_is_kept_and_made_than_real_ones_need() {
    let lines = |count: usize| "linux a\n".repeat(count);
    let long = |length: usize| format!("linux a\n{}\n", "#".repeat(length));
    let (half, most) = (lines(512), usize::try_from(LARGEST_FILE).unwrap());
    for (files, expected) in [
        (vec![("boot/grub/grub.cfg", lines(1024))], None),
        (vec![("boot/grub/grub.cfg", lines(1025))], Some("kernel lines")),
        (vec![("boot/grub/grub.cfg", half.clone()), ("boot/grub/more.cfg", half.clone())], None),
        (
            vec![
                ("boot/grub/grub.cfg", half.clone()),
                ("boot/grub/more.cfg", half),
                ("isolinux/isolinux.cfg", "label a\n  kernel b\n".to_owned()),
            ],
            Some("kernel lines"),
        ),
        (vec![("boot/a.cfg", long(most - 100)), ("boot/b.cfg", long(most - 100))], None),
        (
            [
                "boot/1.cfg",
                "boot/2.cfg",
                "boot/3.cfg",
                "boot/4.cfg",
                "boot/5.cfg",
                "boot/6.cfg",
                "boot/7.cfg",
                "boot/8.cfg",
                "boot/9.cfg",
            ]
            .map(|path| (path, long(most - 100)))
            .into(),
            Some("bytes of configuration"),
        ),
    ] {
        let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        assert_eq!(refused(inspect(&files).await), expected, "{paths:?}");
    }
}

#[tokio::test]
async fn what_is_made_of_the_largest_image_for_one_machine_is_small() {
    let image = inspect(&[("boot/grub/grub.cfg", "linux a\n".repeat(1024))]).await.unwrap();
    let overlay = image.with_arguments(&["a".repeat(2000)]).unwrap();
    assert!(overlay.held() < 3 << 20, "{}", overlay.held());
}

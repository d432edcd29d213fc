//! Transfers, step by step and to their end.

use super::*;

fn request(options: &[(&str, &str)]) -> Request {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Request { file: "f".to_owned(), mode: "octet".to_owned(), options }
}

fn content(length: usize) -> Bytes {
    (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect::<Vec<u8>>().into()
}

fn ack(block: u16) -> Message {
    Message::Acknowledged(block)
}

/// The numbers of the blocks that are sent.
fn numbers(next: &Next) -> Vec<u16> {
    let Next::Send(all, _) = next else { panic!("{next:?}") };
    all.iter().map(|bytes| u16::from_be_bytes([bytes[2], bytes[3]])).collect()
}

/// Reads as a client does that loses every block of which `lost` says so, the first time it comes.
fn read(options: &[(&str, &str)], content: &Bytes, lost: impl Fn(u64) -> bool) -> Vec<u8> {
    let (mut transfer, mut next) = Transfer::begin(&request(options), content.clone(), Limits::default());
    let (mut read, mut last, mut already) = (Vec::new(), 0_u64, std::collections::HashSet::new());
    for _ in 0..1_000_000 {
        let sent = match next {
            Next::Send(sent, _) => sent,
            Next::Done(End::Read) => return read,
            Next::Wait | Next::Done(_) | Next::Refuse(..) => panic!("{next:?}"),
        };
        let mut heard = false;
        for bytes in sent {
            if bytes[1] == 6 {
                heard = true;
                continue;
            }
            let number = u16::from_be_bytes([bytes[2], bytes[3]]);
            let is_next = number == u16::try_from((last + 1) % 65_536).unwrap();
            if is_next && !(lost(last + 1) && already.insert(last + 1)) {
                read.extend(&bytes[4..]);
                (last, heard) = (last + 1, true);
            }
        }
        next = match heard {
            true => transfer.hear(&ack(u16::try_from(last % 65_536).unwrap())),
            false => transfer.time_is_over(),
        };
    }
    panic!("it never ends")
}

#[test]
fn every_length_arrives_whole_with_every_size_of_blocks_and_windows() {
    for length in [0, 1, 511, 512, 513, 1024, 5000] {
        for options in [
            &[][..],
            &[("blksize", "8")],
            &[("blksize", "1468"), ("tsize", "0")],
            &[("windowsize", "4")],
            &[("blksize", "100"), ("windowsize", "16"), ("timeout", "3")],
        ] {
            let all = content(length);
            assert_eq!(read(options, &all, |_| false), all, "{length} {options:?}");
            assert_eq!(read(options, &all, |block| block % 3 == 1), all, "{length} {options:?}, with losses");
        }
    }
}

#[test]
fn numbers_begin_again_after_65535() {
    let all = content(70_000 * 8);
    assert_eq!(read(&[("blksize", "8"), ("windowsize", "16")], &all, |block| block % 20_000 == 0), all);
}

#[test]
fn what_is_asked_for_is_agreed_to_within_limits() {
    for (options, expected) in [
        (&[("blksize", "65464"), ("windowsize", "64")][..], "blksize\x001468\0windowsize\x0016\0"),
        (
            &[("blksize", "734"), ("blksize", "8"), ("tsize", "0"), ("tsize", "0")],
            "blksize\x00734\0tsize\x00600\0",
        ),
        (&[("tsize", "0"), ("timeout", "7")], "tsize\x00600\0timeout\x007\0"),
        (&[("blksize", "1024"), ("multicast", ""), ("windowsize", "x")], "blksize\x001024\0"),
    ] {
        let (_, next) = Transfer::begin(&request(options), content(600), Limits::default());
        let Next::Send(sent, _) = next else { panic!("{next:?}") };
        assert_eq!(sent, [Bytes::from([&[0, 6], expected.as_bytes()].concat())], "{options:?}");
    }
    // What can't be agreed to is as if nobody had asked.
    for options in
        [&[("blksize", "4")][..], &[("timeout", "0")], &[("windowsize", "0")], &[("rollover", "1")]]
    {
        let (_, next) = Transfer::begin(&request(options), content(600), Limits::default());
        assert_eq!(numbers(&next), [1], "{options:?}");
    }
}

#[test]
fn who_only_wants_to_know_the_size_ends_it() {
    let (mut transfer, _) = Transfer::begin(&request(&[("tsize", "0")]), content(9), Limits::default());
    assert_eq!(transfer.hear(&Message::Ended), Next::Done(End::Unwanted));
}

#[test]
fn an_old_acknowledgement_does_not_make_all_be_sent_twice() {
    let (mut transfer, next) = Transfer::begin(&request(&[]), content(2000), Limits::default());
    assert_eq!(numbers(&next), [1]);
    assert_eq!(numbers(&transfer.hear(&ack(1))), [2]);
    for message in [ack(1), ack(0), ack(7), ack(60_000), Message::Read(request(&[]))] {
        assert_eq!(transfer.hear(&message), Next::Wait, "{message:?}");
    }
    assert_eq!(numbers(&transfer.time_is_over()), [2]);
    assert_eq!(numbers(&transfer.hear(&ack(2))), [3]);
}

#[test]
fn in_a_window_what_was_missed_is_sent_again_from_there() {
    let (mut transfer, _) =
        Transfer::begin(&request(&[("windowsize", "4")]), content(5000), Limits::default());
    assert_eq!(transfer.hear(&ack(3)), Next::Wait, "nothing was sent yet");
    assert_eq!(numbers(&transfer.hear(&ack(0))), [1, 2, 3, 4]);
    assert_eq!(numbers(&transfer.hear(&ack(2))), [3, 4, 5, 6]);
    for _ in 0..10 {
        assert_eq!(transfer.hear(&ack(2)), Next::Wait, "the rest of the window says the same");
    }
    assert_eq!(numbers(&transfer.hear(&ack(6))), [7, 8, 9, 10]);
    assert_eq!(transfer.hear(&ack(10)), Next::Done(End::Read));
}

/// A client that, as firmware made from EDK2 does, acknowledges what it has for every block that it did not expect, and
/// otherwise once for each window. It counts the packets in both directions, and loses one of them.
struct Firmware {
    window: u64,
    /// The last block that it has.
    last: u64,
    /// What it had when it said so last.
    said: u64,
    packets: u64,
    lost: u64,
}

impl Firmware {
    fn arrives(&mut self) -> bool {
        self.packets += 1;
        self.packets != self.lost
    }

    /// What it says to what it was sent, as far as that arrives.
    fn says(&mut self, sent: &[Bytes], blocks: u64) -> Vec<Message> {
        let mut said = Vec::new();
        for bytes in sent {
            if !self.arrives() {
                continue;
            }
            let is_agreement = bytes[1] == 6;
            let number = u64::from(u16::from_be_bytes([bytes[2], bytes[3]]));
            let is_next = !is_agreement && number == self.last + 1;
            if is_next {
                self.last += 1;
            }
            let speaks = !is_next || self.last - self.said == self.window || self.last == blocks;
            if speaks {
                self.said = self.last;
                if self.arrives() {
                    said.push(ack(u16::try_from(self.last).unwrap()));
                }
            }
        }
        said
    }

    /// Reads to the end. What is said while something else is on its way is heard in its order.
    fn reads(&mut self, content: &Bytes, blocks: u64) {
        let window = self.window.to_string();
        let options = request(&[("blksize", "8"), ("windowsize", &window)]);
        let (mut transfer, mut next) = Transfer::begin(&options, content.clone(), Limits::default());
        let mut on_their_way = std::collections::VecDeque::new();
        for _ in 0..100_000 {
            match next {
                Next::Send(sent, _) => on_their_way.extend(self.says(&sent, blocks)),
                Next::Wait => {}
                Next::Done(End::Read) => return assert_eq!(self.last, blocks),
                Next::Done(_) | Next::Refuse(..) => panic!("{next:?}"),
            }
            next = match on_their_way.pop_front() {
                Some(message) => transfer.hear(&message),
                None => transfer.time_is_over(),
            };
        }
        panic!("it never ends")
    }
}

#[test]
fn one_packet_that_is_lost_ends_nothing_whatever_firmware_says_to_the_next_ones() {
    let (blocks, all) = (200, content(199 * 8));
    for window in [1, 2, 3, 4, 8, 16] {
        let firmware = |lost| {
            let mut firmware = Firmware { window, last: 0, said: 0, packets: 0, lost };
            firmware.reads(&all, blocks);
            firmware.packets
        };
        let undisturbed = firmware(0);
        assert_eq!(undisturbed, 2 + blocks + blocks.div_ceil(window), "{window}");
        for lost in 1..=undisturbed {
            let packets = firmware(lost);
            // What is sent again may leave the client's windows and ours apart from then on: each block is then sent twice.
            assert!(packets <= 3 * undisturbed, "{packets} with {window}, without packet {lost}");
        }
    }
}

#[test]
fn nobody_is_sent_to_for_ever_and_nothing_is_written() {
    let (mut transfer, _) = Transfer::begin(&request(&[]), content(600), Limits::default());
    for _ in 1..MOST_TRIES {
        assert_eq!(numbers(&transfer.time_is_over()), [1]);
    }
    assert_eq!(transfer.time_is_over(), Next::Done(End::Silent));
    let (mut repeating, _) =
        Transfer::begin(&request(&[("windowsize", "4")]), content(5000), Limits::default());
    assert_eq!(numbers(&repeating.hear(&ack(0))), [1, 2, 3, 4]);
    for _ in 1..MOST_TRIES {
        assert_eq!(repeating.hear(&ack(0)), Next::Wait);
        assert_eq!(numbers(&repeating.time_is_over()), [1, 2, 3, 4]);
    }
    assert_eq!(repeating.hear(&ack(0)), Next::Wait);
    assert_eq!(repeating.time_is_over(), Next::Done(End::Silent), "who says the same again and again");
    let (mut transfer, _) = Transfer::begin(&request(&[]), content(600), Limits::default());
    assert!(matches!(transfer.hear(&Message::Write), Next::Refuse(..)));
    let text = Request { mode: "netascii".to_owned(), ..request(&[]) };
    assert!(matches!(Transfer::begin(&text, content(9), Limits::default()).1, Next::Refuse(..)));
}

#[test]
fn a_block_has_room_in_a_packet() {
    for (mtu, expected) in [
        (None, 1468),
        (Some(1500), 1468),
        (Some(9000), 1468),
        (Some(1450), 1418),
        (Some(1280), 1248),
        // Without an agreement a block is as long as this anyway.
        (Some(500), 512),
        (Some(0), 512),
    ] {
        assert_eq!(Limits::default().within(mtu), Limits { block: expected, window: 16 }, "{mtu:?}");
    }
}

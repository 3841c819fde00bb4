//! Many references: all of them are stored, in order. (Speed is measured in bench/.)
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

mod common;

use common::{Home, array};
use icecore_catalog::{ChunkPlace, LinkIdentity, Place};

#[test]
fn a_million_links() {
    const N: u64 = 1_000_000;
    let home = Home::new();
    let writer = home.writer();
    writer.allow_container("/data/archive").unwrap();
    writer.add_array("/a", &array(&[1000, 1000], &[1, 1])).unwrap();
    let urls: Vec<String> = (0..100).map(|i| format!("file:///data/archive/part-{i:04}.h5")).collect();
    let who = vec![LinkIdentity { size: 1 << 40, mtime_ns: 1_700_000_000_500_000_000, etag: None }; 100];
    let ids: Vec<u32> = (0..N).map(|i| (i / 10_000) as u32).collect();
    let chunks: Vec<u64> = (0..N).collect();
    let offsets: Vec<u64> = chunks.iter().map(|c| 4096 + c * 1357).collect();
    let start = std::time::Instant::now();
    writer.set_links("/a", &urls, &who, &ids, &chunks, &offsets, &vec![1357; N as usize]).unwrap();
    let set = start.elapsed();
    writer.commit("a million").unwrap();
    let commit = start.elapsed() - set;
    let main = home.main();
    let start = std::time::Instant::now();
    let table = main.table("/a").unwrap();
    println!("1e6 links: set {set:?}, commit {commit:?}, load {:?}", start.elapsed());
    assert_eq!((table.len() as u64, table.objects.len()), (N, 100));
    assert!(table.iter().zip(0..N).all(|((flat, place), i)| {
        flat == i && place == Place::Range { object: (i / 10_000) as u32, offset: 4096 + i * 1357, length: 1357 }
    }));
}

#[test]
fn many_arrays() {
    let home = Home::new();
    let writer = home.writer();
    writer.allow_container("/data").unwrap();
    let who = [LinkIdentity { size: 1 << 40, mtime_ns: 5, etag: None }];
    let chunks: Vec<u64> = (0..500).collect();
    let start = std::time::Instant::now();
    let paths: Vec<String> = (0..72).map(|i| format!("/g{}/a{i}", i % 6)).collect();
    for path in &paths {
        writer.add_array(path, &array(&[5000], &[10])).unwrap();
        writer
            .set_links(path, &["file:///data/x.h5".to_owned()], &who, &[0; 500], &chunks, &chunks, &[10; 500])
            .unwrap();
    }
    let set = start.elapsed();
    writer.commit("72 x 500").unwrap();
    println!("72 x 500 links: set {set:?}, with commit {:?}", start.elapsed());
    let start = std::time::Instant::now();
    let main = home.main();
    let opened = start.elapsed();
    let tables = main.tables(&paths.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    println!("open {opened:?}, with tables {:?}", start.elapsed());
    assert!(tables.len() == 72 && tables.iter().all(|t| t.len() == 500 && t.objects.len() == 1));
}

#[test]
fn a_hundred_thousand_chunks_in_a_few_objects() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/a", &array(&[100_000], &[1])).unwrap();
    let ids: Vec<_> = (0..10).map(|i| writer.put_object(bytes::Bytes::from(vec![i; 10_000])).unwrap()).collect();
    let chunks: Vec<_> = (0..100_000u64)
        .rev()
        .map(|c| (c, ChunkPlace::Object { id: ids[(c / 10_000) as usize], offset: c % 10_000, length: 1 }))
        .collect();
    writer.set_chunks("/a", &chunks).unwrap();
    writer.commit("packed").unwrap();
    let table = home.main().table("/a").unwrap();
    assert_eq!((table.len(), table.objects.len()), (100_000, 10));
    let icecore_catalog::Location::Native(first) = &table.objects[0].location else { panic!("a link") };
    assert_eq!(*first, ids[0].name());
}

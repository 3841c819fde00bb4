//! Creating, opening and naming versions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

mod common;

use common::{Home, array, at, paths};
use icecore_catalog::{Native, Repo, Storage};
use icecore_grid::ErrorKind;

#[test]
fn a_new_repository_is_empty_and_can_be_opened_by_path_and_url() {
    let home = Home::new();
    assert_eq!(home.repo.snapshot(None).unwrap().nodes().len(), 0);
    for url in [home.path().display().to_string(), format!("file://{}", home.path().display())] {
        let repo = Repo::open(&Storage::new(url)).unwrap();
        assert_eq!(repo.native_location(), Native::Local(home.path()));
        assert_eq!(repo.url(), home.path().display().to_string());
        assert_eq!(repo.branches().unwrap().len(), 1);
    }
}

#[test]
fn nothing_is_created_over_something() {
    let home = Home::new();
    let error = Repo::create(&home.storage()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Exists);
    assert!(error.message.contains("repository already"), "{}", error.message);
    home.file("x.h5", b"1");
    let error = Repo::create(&Storage::new(home.data())).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Exists);
    assert!(error.message.contains("x.h5"), "{}", error.message);
    let file = Storage::new(at(home.dir.path(), "data/x.h5"));
    assert_ne!(Repo::create(&file).unwrap_err().kind, ErrorKind::Internal);
    assert_eq!(std::fs::read(home.dir.path().join("data/x.h5")).unwrap(), b"1");
    assert_eq!(Repo::create(&Storage::new("http://localhost/x")).unwrap_err().kind, ErrorKind::ReadOnly);
}

#[test]
fn two_creators_at_once_make_one_repository() {
    let dir = tempfile::tempdir().unwrap();
    let storage = Storage::new(at(dir.path(), "r"));
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| Repo::create(&storage))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 1);
    assert!(results.iter().filter_map(|r| r.as_ref().err()).all(|e| e.kind == ErrorKind::Exists));
    assert!(Repo::open(&storage).is_ok());
}

#[test]
fn opening_what_is_no_repository_says_what_is_there() {
    let home = Home::new();
    let open = |name: &str| Repo::open(&Storage::new(at(home.dir.path(), name))).unwrap_err();
    let error = open("nothing");
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.hint.contains("icecore link") && error.hint.contains("--into"), "{}", error.hint);
    std::fs::create_dir(home.dir.path().join("empty")).unwrap();
    assert_eq!(open("empty").kind, ErrorKind::NotFound);
    home.file("zarr.json", b"{}");
    let error = open("data");
    assert_eq!(error.kind, ErrorKind::Format);
    assert!(error.message.contains("Zarr"), "{}", error.message);
    let error = open("data/zarr.json");
    assert_eq!(error.kind, ErrorKind::Format);
    assert!(error.message.contains("2 bytes"), "{}", error.message);
    assert_eq!(Repo::open(&Storage::new("memory://missing")).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn memory_is_shared_by_name() {
    let storage = Storage::new("memory://shared-by-name");
    let one = Repo::create(&storage).unwrap();
    let two = Repo::open(&storage).unwrap();
    let writer = one.writer("main").unwrap();
    writer.add_array("/a", &array(&[4], &[2])).unwrap();
    writer.commit("a").unwrap();
    assert_eq!(paths(&two.snapshot(None).unwrap()), ["/", "/a"]);
    assert_eq!(one.native_location(), Native::Memory);
    assert_eq!(Repo::create(&storage).unwrap_err().kind, ErrorKind::Exists);
    let (a, b) = (Repo::create(&Storage::new("memory://")).unwrap(), Repo::create(&Storage::new("memory://")).unwrap());
    assert_ne!(a.url(), b.url());
}

#[test]
fn versions_by_branch_tag_id_and_beginning() {
    let home = Home::new();
    let ids: Vec<String> = ["/a", "/b", "/c"].map(|p| home.commit_array(p)).into();
    let repo = home.open();
    repo.create_tag("v1", Some(&ids[0])).unwrap();
    repo.create_branch("side", Some("v1")).unwrap();
    let id = |reference: &str| repo.snapshot(Some(reference)).unwrap().id().to_owned();
    assert_eq!(repo.snapshot(None).unwrap().id(), ids[2]);
    assert_eq!([id("main"), id("v1"), id("side"), id(&ids[1])], [&ids[2], &ids[0], &ids[0], &ids[1]].map(Clone::clone));
    assert_eq!(id(&ids[1][..8]), ids[1]);
    assert_eq!(id(&ids[1][..8].to_lowercase()), ids[1]);
    assert_eq!(paths(&repo.snapshot(Some("v1")).unwrap()), ["/", "/a"]);
    for reference in ["mian", "v2", "00000000", "1234-56-78"] {
        let error = repo.snapshot(Some(reference)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);
        assert!(error.message.contains("main") && error.message.contains("v1"), "{}", error.message);
    }
}

#[test]
fn a_name_comes_before_what_else_the_text_could_mean() {
    let home = Home::new();
    let first = home.commit_array("/a");
    let second = home.commit_array("/b");
    let part = &second[..8];
    home.repo.create_tag(part, Some(&first)).unwrap();
    assert_eq!(home.repo.snapshot(Some(part)).unwrap().id(), first);
    assert_eq!(home.repo.snapshot(Some(&second[..9])).unwrap().id(), second);
    let error = home.repo.create_tag("2999-01-01", Some(&first)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid, "a tag named like a time would hide that day's version");
    home.repo.create_branch("x", Some(&first)).unwrap();
    let error = home.repo.create_tag("x", Some(&second)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Exists, "a tag of a branch's name would mean both");
}

#[test]
fn time_travel() {
    let home = Home::new();
    let mut commits = Vec::new();
    for path in ["/a", "/b"] {
        std::thread::sleep(std::time::Duration::from_millis(5));
        commits.push(home.commit_array(path));
    }
    let log = home.repo.log(None, None).unwrap();
    let iso = |us: i64| format!("{}Z", utc(us));
    let (newest, older) = (log[0].time_us, log[1].time_us);
    let id = |reference: String| home.repo.snapshot(Some(&reference)).unwrap().id().to_owned();
    assert_eq!(id(iso(newest)), commits[1]);
    assert_eq!(id(iso(newest - 1)), commits[0]);
    assert_eq!(id(iso(older)), commits[0]);
    assert_eq!(id(iso(newest).replace('Z', "+00:00")), commits[1]);
    assert_eq!(id("2999-12-31".to_owned()), commits[1]);
    let error = home.repo.snapshot(Some("1999-01-01")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.message.contains("at or before 1999-01-01"), "{}", error.message);
}

#[test]
fn revisions_count_back_from_a_version() {
    let home = Home::new();
    let commits: Vec<String> = ["/a", "/b", "/c"].iter().map(|path| home.commit_array(path)).collect();
    home.repo.create_tag("v2", Some(&commits[1])).unwrap();
    let id = |reference: &str| home.repo.snapshot(Some(reference)).map(|found| found.id().to_owned());
    for (reference, expected) in [
        ("main~0", &commits[2]),
        ("main~1", &commits[1]),
        ("main^", &commits[1]),
        ("main~", &commits[1]),
        ("main~2", &commits[0]),
        ("main^~1", &commits[0]),
        ("v2~1", &commits[0]),
        ("2999-12-31~1", &commits[1]),
        ("@{2999-12-31}", &commits[2]),
        ("{2999-12-31}~2", &commits[0]),
        ("v2@{2999-12-31}", &commits[1]),
    ] {
        assert_eq!(&id(reference).unwrap(), expected, "{reference}");
    }
    assert_eq!(&id(&format!("{}~1", commits[2])).unwrap(), &commits[1]);
    let log = home.repo.log(None, None).unwrap();
    assert_eq!(id(&format!("main~{}", log.len() - 1)).unwrap(), log[log.len() - 1].id);
    for missing in [format!("main~{}", log.len()), "nosuch~1".into(), "main@{yesterday}".into(), "@{1999-01-01}".into()]
    {
        assert_eq!(id(&missing).unwrap_err().kind, ErrorKind::NotFound, "{missing}");
    }
    for name in ["a~1", "a^", "a~"] {
        assert_eq!(home.repo.create_branch(name, None).unwrap_err().kind, ErrorKind::Invalid, "{name}");
    }
}

/// Microseconds since 1970 as ISO text, by the proleptic Gregorian calendar.
fn utc(us: i64) -> String {
    let (days, rest) = (us.div_euclid(86_400_000_000), us.rem_euclid(86_400_000_000));
    let (mut year, mut day) = (1970, days);
    let leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    while day >= 365 + i64::from(leap(year)) {
        day -= 365 + i64::from(leap(year));
        year += 1;
    }
    let months = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= months[month] {
        day -= months[month];
        month += 1;
    }
    let (s, us) = (rest / 1_000_000, rest % 1_000_000);
    format!("{year:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{us:06}", month + 1, day + 1, s / 3600, s / 60 % 60, s % 60)
}

#[test]
fn log_is_newest_first() {
    let home = Home::new();
    let (a, b) = (home.commit_array("/a"), home.commit_array("/b"));
    let log = home.repo.log(None, None).unwrap();
    assert_eq!(log.iter().map(|c| c.message.as_str()).collect::<Vec<_>>(), ["/b", "/a", "Repository initialized"]);
    assert_eq!((log[0].id.as_str(), log[0].parent.as_deref()), (b.as_str(), Some(a.as_str())));
    assert!(log[0].time_us >= log[1].time_us && log[2].parent.is_none());
    assert_eq!(home.repo.log(Some(&a), Some(1)).unwrap()[0].id, a);
}

#[test]
fn branches_and_tags() {
    let home = Home::new();
    let first = home.commit_array("/a");
    home.commit_array("/b");
    let repo = &home.repo;
    repo.create_branch("dev", Some(&first)).unwrap();
    repo.create_tag("v1", None).unwrap();
    assert_eq!(repo.branches().unwrap().iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["dev", "main"]);
    assert_eq!(repo.branches().unwrap()[0].1, first);
    assert_eq!(repo.tags().unwrap().len(), 1);
    assert_eq!(repo.create_branch("dev", None).unwrap_err().kind, ErrorKind::Exists);
    assert_eq!(repo.create_tag("v1", Some(&first)).unwrap_err().kind, ErrorKind::Exists);
    assert_eq!(repo.create_tag("a b", None).unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(repo.create_tag("v2", Some("nothing")).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(repo.delete_branch("main").unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(repo.delete_branch("nothing").unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(repo.delete_tag("nothing").unwrap_err().kind, ErrorKind::NotFound);
    let writer = repo.writer("dev").unwrap();
    writer.add_array("/c", &array(&[4], &[2])).unwrap();
    writer.commit("on dev").unwrap();
    assert_eq!(paths(&repo.snapshot(Some("dev")).unwrap()), ["/", "/a", "/c"]);
    assert_eq!(paths(&repo.snapshot(None).unwrap()), ["/", "/a", "/b"]);
    repo.delete_branch("dev").unwrap();
    repo.delete_tag("v1").unwrap();
    assert_eq!(repo.create_tag("v1", None).unwrap_err().kind, ErrorKind::Exists);
    assert_eq!((repo.branches().unwrap().len(), repo.tags().unwrap().len()), (1, 0));
    assert_eq!(repo.writer("dev").err().unwrap().kind, ErrorKind::NotFound);
}

#[test]
fn unknown_options_are_refused() {
    let home = Home::new();
    let mut storage = home.storage();
    storage.options.insert("regoin".into(), "eu".into());
    assert_eq!(Repo::open(&storage).unwrap_err().kind, ErrorKind::Invalid);
    storage.options.clear();
    storage.options.insert("lock_timeout".into(), "soon".into());
    assert_eq!(Repo::open(&storage).unwrap_err().kind, ErrorKind::Invalid);
}

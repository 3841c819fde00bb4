//! Values that are derived from a version and kept with it, so that small requests do not parse its documents again.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Maximum number of values.
const MOST: usize = 4096;

type Value = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
pub(crate) struct Kept(Mutex<HashMap<String, Value>>);

impl Kept {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get<T: Send + Sync + 'static>(&self, key: &str) -> Option<Arc<T>> {
        let value = self.lock().get(key).cloned()?;
        value.downcast().ok()
    }

    /// Keeps a value; a full map is emptied first.
    pub fn put<T: Send + Sync + 'static>(&self, key: &str, value: T) -> Arc<T> {
        let value = Arc::new(value);
        let mut all = self.lock();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(key.to_owned(), Arc::clone(&value) as Value);
        value
    }
}

/// Maximum bytes of the texts of a version.
const LARGEST: usize = 64 << 20;

/// Responses that are made from a version and kept with it, up to a number of bytes.
#[derive(Default)]
pub(crate) struct Texts(Mutex<HashMap<String, Bytes>>);

impl Texts {
    /// The text of a key, made if it is not kept.
    pub fn get<E>(&self, key: &str, make: impl FnOnce() -> Result<Bytes, E>) -> Result<Bytes, E> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(key) {
            return Ok(known.clone());
        }
        let made = make()?;
        let mut all = lock();
        let cost = |(key, text): (&String, &Bytes)| key.len() + text.len();
        if all.len() >= MOST || all.iter().map(cost).sum::<usize>() + made.len() > LARGEST {
            all.clear();
        }
        if made.len() <= LARGEST {
            all.insert(key.to_owned(), made.clone());
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_key_and_type_and_their_number_is_limited() {
        let kept = Kept::default();
        kept.put("a", 1_u8);
        assert_eq!(kept.get::<u8>("a").as_deref(), Some(&1));
        assert!(kept.get::<u16>("a").is_none() && kept.get::<u8>("b").is_none());
        for number in 0..2 * MOST {
            kept.put(&number.to_string(), number);
        }
        assert!(kept.lock().len() <= MOST);
    }

    #[test]
    fn texts_are_made_once_and_their_size_is_limited() {
        let texts = Texts::default();
        let made = std::cell::Cell::new(0);
        let text = |key: &str, length: usize| {
            texts.get::<()>(key, || {
                made.set(made.get() + 1);
                Ok(Bytes::from(vec![b'x'; length]))
            })
        };
        for _ in 0..3 {
            assert_eq!(text("a", 5).unwrap().len(), 5);
        }
        assert_eq!(made.get(), 1);
        text("large", LARGEST + 1).unwrap();
        text("b", LARGEST - 1).unwrap();
        assert!(texts.0.lock().unwrap().values().map(Bytes::len).sum::<usize>() <= LARGEST);
    }
}

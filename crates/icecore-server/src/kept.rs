//! Values that are derived from a version and kept with it, so that small requests do not parse its documents again.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
}

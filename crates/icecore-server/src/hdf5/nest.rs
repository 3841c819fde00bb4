//! Nested lists written element by element, so that a long value needs only one block of text in memory.

/// Position of the next element in the nested lists.
pub(crate) struct Nest {
    /// Elements in each list, outermost first.
    sizes: Vec<u64>,
    written: u64,
}

impl Nest {
    pub fn new(shape: &[u64]) -> Self {
        let mut sizes: Vec<u64> = Vec::new();
        let mut size = 1_u64;
        for count in shape.iter().rev() {
            size = size.saturating_mul(*count);
            sizes.push(size);
        }
        sizes.reverse();
        Self { sizes, written: 0 }
    }

    /// Brackets and commas before the next element.
    pub fn open(&self, out: &mut String) {
        if self.written > 0 {
            out.push(',');
        }
        self.sizes.iter().filter(|size| self.written.is_multiple_of(**size)).for_each(|_| out.push('['));
    }

    /// Brackets after it.
    pub fn close(&mut self, out: &mut String) {
        self.written += 1;
        self.sizes.iter().filter(|size| self.written.is_multiple_of(**size)).for_each(|_| out.push(']'));
    }
}

/// The nested lists of a shape without elements.
pub(crate) fn empty(shape: &[u64], out: &mut String) {
    out.push('[');
    if let Some((count, inner)) = shape.split_first() {
        for i in 0..*count {
            if i > 0 {
                out.push(',');
            }
            empty(inner, out);
        }
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(shape: &[u64]) -> String {
        let (mut nest, mut out) = (Nest::new(shape), String::new());
        for i in 0..shape.iter().product::<u64>() {
            nest.open(&mut out);
            out.push_str(&i.to_string());
            nest.close(&mut out);
        }
        out
    }

    #[test]
    fn brackets() {
        assert_eq!(text(&[2, 3]), "[[0,1,2],[3,4,5]]");
        assert_eq!(text(&[2, 1, 2]), "[[[0,1]],[[2,3]]]");
        assert_eq!(text(&[]), "0");
        assert_eq!(text(&[1]), "[0]");
        let mut out = String::new();
        empty(&[2, 0], &mut out);
        assert_eq!(out, "[[],[]]");
    }
}

//! Least-squares line through points, and the value at `x = 0` that the same weights give for other quantities.

/// Weights of the points for the value at `x = 0`: point `i` has the weight `constant + linear * x[i]`.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub height: f64,
    pub slope: f64,
    constant: f64,
    linear: f64,
}

impl Line {
    /// Fits `h = height + slope * x`. If all `x` are equal, the slope is 0 and the height is the mean.
    pub fn fit(x: &[f64], h: &[f64]) -> Self {
        let n = x.len() as f64;
        let (sum_x, sum_xx) = x.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        let determinant = n * sum_xx - sum_x * sum_x;
        // Relative to its two terms, what remains of equal x is rounding.
        if determinant <= 1e-12 * n * sum_xx || x.len() < 2 {
            let level = Self { height: 0.0, slope: 0.0, constant: 1.0 / n, linear: 0.0 };
            return Self { height: level.at_zero(x, h), ..level };
        }
        let flat = Self { height: 0.0, slope: 0.0, constant: sum_xx / determinant, linear: -sum_x / determinant };
        let (sum_h, sum_xh) = x.iter().zip(h).fold((0.0, 0.0), |(s, q), (x, h)| (s + h, q + x * h));
        let slope = flat.linear * sum_h + n / determinant * sum_xh;
        Self { height: flat.constant * sum_h + flat.linear * sum_xh, slope, ..flat }
    }

    /// The fitted value of other quantities of the same points at `x = 0`.
    pub fn at_zero(&self, x: &[f64], values: &[f64]) -> f64 {
        x.iter().zip(values).map(|(x, value)| (self.constant + self.linear * x) * value).sum()
    }

    /// Standard deviation of the height for points with a standard deviation of 1.
    pub fn sigma(&self) -> f64 {
        // The first element of (GᵀG)⁻¹: the sum of the squared weights.
        self.constant.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_exactly() {
        let x = [-3.0, -1.0, 2.0, 5.0];
        let h: Vec<f64> = x.iter().map(|x| 7.0 + 0.25 * x).collect();
        let line = Line::fit(&x, &h);
        assert!((line.height - 7.0).abs() < 1e-12 && (line.slope - 0.25).abs() < 1e-12);
        let squares: f64 = x.iter().map(|x| (line.constant + line.linear * x).powi(2)).sum();
        assert!((line.sigma() - squares.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn equal_x_give_the_mean() {
        let line = Line::fit(&[4.1; 3], &[1.0, 2.0, 6.0]);
        assert!((line.height - 3.0).abs() < 1e-12 && line.slope == 0.0);
        assert_eq!(Line::fit(&[2.0], &[5.0]).height, 5.0);
    }
}

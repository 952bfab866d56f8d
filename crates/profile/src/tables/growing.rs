//! Lists that grow on demand: sums by an index, most of which are filled.

/// The element at this place.
#[inline]
pub(crate) fn entry<T: Default>(list: &mut Vec<T>, place: usize) -> &mut T {
    if place >= list.len() {
        list.resize_with(place + 1, T::default);
    }
    &mut list[place]
}

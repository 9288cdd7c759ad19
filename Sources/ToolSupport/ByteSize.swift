/// Sizes on a command line, such as `500k`, `10M` or `2G`.
package enum ByteSize {
    /// Reads a positive number of bytes, with `k`, `M`, `G` or `T` for powers of 1000; nil for anything else.
    package static func parse(_ text: String) -> Int64? {
        let factors: [Character: Int64] = ["k": 1000, "K": 1000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000]
        let factor = text.last.flatMap { factors[$0] }
        guard let number = Int64(factor == nil ? text[...] : text.dropLast()), number > 0 else { return nil }
        let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: factor ?? 1)
        return isTooLarge ? nil : bytes
    }
}

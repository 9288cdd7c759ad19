public import GRDB

/// A position in an ordered list, for a TEXT column.
///
/// There is always room between two positions, so that a move writes one record.
///
/// ```swift
/// // SELECT * FROM track ORDER BY position, id
/// track.position = FractionalPosition.between(before?.position, after?.position)!
/// ```
///
/// A position is a fraction between 0 and 1, with the digits `0`–`9`, `A`–`Z`, `a`–`z`, in the order of their bytes.
/// Sort by the column in its BINARY collation, and then by the key. Each device moves a record by writing this one
/// column, and the later write stays, so that all devices arrive at one order. Four digits at the end are random:
/// records that two devices insert at one place at the same time get different positions side by side.
///
/// A position at the ends of a list has 10 digits, however many records have been added there. If records are inserted
/// at one place again and again, a position grows by a digit for about every five of them. ``respacing(_:)`` shortens
/// it again.
public struct FractionalPosition: Hashable, Sendable {
    /// The digits.
    public let text: String

    static let leastLength = 6
    private static let randomLength = 4
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    static let base = alphabet.count

    /// Reads the digits in `text`.
    ///
    /// Returns nil for anything else.
    public init?(_ text: String) {
        let digits = text.utf8.compactMap { Self.alphabet.firstIndex(of: $0) }
        guard digits.count == text.utf8.count, digits.count >= Self.leastLength, digits.contains(where: { $0 > 0 }),
            digits.count == Self.leastLength || digits.last != 0
        else { return nil }
        self.text = text
    }

    /// Creates the fraction with these digits, which must not all be 0.
    init(digits: [Int]) {
        var digits = digits
        while digits.count > Self.leastLength, digits.last == 0 { digits.removeLast() }
        text = String(decoding: digits.map { Self.alphabet[$0] }, as: UTF8.self)
    }

    var digits: [Int] { text.utf8.map { Self.alphabet.firstIndex(of: $0)! } }
}

extension FractionalPosition {
    /// Returns a new position between two.
    ///
    /// - Parameters:
    ///   - lower: the position before. Nil for the beginning of the list.
    ///   - upper: the position after. Nil for the end of the list.
    /// - Returns: the position. It is nil if the first is not before the second, for example if two devices have chosen
    ///   equal positions; ``respacing(_:)`` separates them.
    public static func between(_ lower: FractionalPosition?, _ upper: FractionalPosition?) -> FractionalPosition? {
        spread(1, between: lower, and: upper)?.first
    }

    /// Returns new positions between two, in order.
    ///
    /// - Parameters:
    ///   - count: the number of positions.
    ///   - lower: the position before. Nil for the beginning of the list.
    ///   - upper: the position after. Nil for the end of the list.
    /// - Returns: the positions, or nil if the first is not before the second.
    public static func spread(
        _ count: Int, between lower: FractionalPosition? = nil, and upper: FractionalPosition? = nil
    ) -> [FractionalPosition]? {
        var generator = SystemRandomNumberGenerator()
        return spread(count, between: lower, and: upper, using: &generator)
    }

    /// Returns new positions between two, with the given random numbers.
    static func spread(
        _ count: Int, between lower: FractionalPosition?, and upper: FractionalPosition?, using generator: inout some RandomNumberGenerator
    ) -> [FractionalPosition]? {
        guard let gap = Gap(lower?.digits ?? [], upper?.digits, room: count) else { return nil }
        return (1...max(1, count)).prefix(count).map { number in
            // At an end of the list, positions are close to the existing one, so that digits do not run out. Otherwise
            // they are in the middle.
            let offset =
                switch (lower, upper) {
                case (nil, nil): gap.size / 2 - count / 2 + number - 1
                case (_, nil): number
                case (nil, _): gap.size - 1 - count + number
                case (_, _): share(gap.size, number, of: count + 1)
                }
            let random = (1...randomLength).map { Int.random(in: ($0 == randomLength ? 1 : 0)..<base, using: &generator) }
            return FractionalPosition(digits: gap.digits(at: offset) + random)
        }
    }

    /// Returns `size * number / parts`, between 1 and `size - 1`.
    ///
    /// The product may be larger than a machine word.
    static func share(_ size: Int, _ number: Int, of parts: Int) -> Int {
        parts.dividingFullWidth(size.multipliedFullWidth(by: number)).quotient
    }

    /// The gap between two fractions, in steps of their last common digit.
    struct Gap {
        /// The first digits of the lower fraction.
        private let start: [Int]
        /// The number of steps to the first digits of the upper fraction.
        ///
        /// Positions in the gap are at least one step, and fewer steps than this, above the start.
        let size: Int

        /// Creates a gap with as many digits as needed for some positions.
        ///
        /// - Parameters:
        ///   - lower: the digits of the lower fraction.
        ///   - upper: the digits of the upper fraction. Nil for 1.
        ///   - room: the number of positions that must fit.
        ///   - length: the minimum number of digits.
        init?(_ lower: [Int], _ upper: [Int]?, room: Int, length: Int = leastLength) {
            if let upper, !lower.lexicographicallyPrecedes(upper) { return nil }
            var start: [Int] = []
            var size = upper == nil ? 1 : 0
            while start.count < length || size <= room {
                let place = start.count
                start.append(place < lower.count ? lower[place] : 0)
                // The gap is now wide enough for any number of positions; the other digits only reach the minimum
                // length.
                if size > 1 << 50 { continue }
                size = size * base + (upper.map { place < $0.count ? $0[place] : 0 } ?? 0) - start[place]
            }
            self.start = start
            self.size = size
        }

        /// Returns the digits at a number of steps above the lower fraction.
        func digits(at offset: Int) -> [Int] {
            var digits = start
            var rest = offset
            for place in digits.indices.reversed() where rest > 0 {
                rest += digits[place]
                digits[place] = rest % base
                rest /= base
            }
            return digits
        }
    }
}

extension FractionalPosition: Comparable, CustomStringConvertible, Codable, DatabaseValueConvertible {
    /// Compares by bytes, as SQLite does.
    public static func < (left: FractionalPosition, right: FractionalPosition) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// The digits.
    public var description: String { text }

    /// Reads the digits.
    ///
    /// - Parameter decoder: contains one string.
    /// - Throws: `DecodingError`, also if the string is not a position.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let position = FractionalPosition(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is not a FractionalPosition.")
        }
        self = position
    }

    /// Writes the digits.
    ///
    /// - Parameter encoder: receives one string.
    /// - Throws: the error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    /// The digits, as TEXT.
    public var databaseValue: DatabaseValue { text.databaseValue }

    /// Reads the digits.
    ///
    /// Returns nil for anything else.
    public static func fromDatabaseValue(_ value: DatabaseValue) -> FractionalPosition? {
        String.fromDatabaseValue(value).flatMap { FractionalPosition($0) }
    }
}

public import GRDB

/// A place in an ordered list, for a TEXT column: between any two there is room for another, so that a move writes one record.
///
/// ```swift
/// // SELECT * FROM track ORDER BY position, id
/// track.position = FractionalPosition.between(before?.position, after?.position)!
/// ```
///
/// It is a fraction between 0 and 1, written in digits `0`–`9`, `A`–`Z`, `a`–`z`, whose order is that of their bytes: sort by the column in its BINARY
/// collation, and by the key behind it. Each device moves a record by a write of this one column, of which the later stays, so that
/// all devices come to one order. Four digits at the end are random: what two devices put at one place at once lies side by side there.
///
/// A position has 10 digits at the ends of a list, however many have been added there. Where records are put at one place again and again it
/// grows by a digit for about every five of them; ``respacing(_:)`` makes it short again.
public struct FractionalPosition: Hashable, Sendable {
    /// The digits.
    public let text: String

    static let leastLength = 6
    private static let randomLength = 4
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    static let base = alphabet.count

    /// Reads what `text` gives; nil for anything else.
    public init?(_ text: String) {
        let digits = text.utf8.compactMap { Self.alphabet.firstIndex(of: $0) }
        guard digits.count == text.utf8.count, digits.count >= Self.leastLength, digits.contains(where: { $0 > 0 }),
            digits.count == Self.leastLength || digits.last != 0
        else { return nil }
        self.text = text
    }

    /// The fraction with these digits, not all of which are 0.
    init(digits: [Int]) {
        var digits = digits
        while digits.count > Self.leastLength, digits.last == 0 { digits.removeLast() }
        text = String(decoding: digits.map { Self.alphabet[$0] }, as: UTF8.self)
    }

    var digits: [Int] { text.utf8.map { Self.alphabet.firstIndex(of: $0)! } }
}

extension FractionalPosition {
    /// A new position between two.
    ///
    /// - Parameters:
    ///   - lower: the one before; nil for the beginning of the list.
    ///   - upper: the one behind; nil for its end.
    /// - Returns: the position; nil where the first is not before the second, as where two devices have given the same one:
    ///   ``respacing(_:)`` parts them.
    public static func between(_ lower: FractionalPosition?, _ upper: FractionalPosition?) -> FractionalPosition? {
        spread(1, between: lower, and: upper)?.first
    }

    /// New positions between two, in order.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - lower: the one before; nil for the beginning of the list.
    ///   - upper: the one behind; nil for its end.
    /// - Returns: the positions; nil where the first is not before the second.
    public static func spread(
        _ count: Int, between lower: FractionalPosition? = nil, and upper: FractionalPosition? = nil
    ) -> [FractionalPosition]? {
        var generator = SystemRandomNumberGenerator()
        return spread(count, between: lower, and: upper, using: &generator)
    }

    /// The same with random numbers of the caller's.
    static func spread(
        _ count: Int, between lower: FractionalPosition?, and upper: FractionalPosition?, using generator: inout some RandomNumberGenerator
    ) -> [FractionalPosition]? {
        guard let gap = Gap(lower?.digits ?? [], upper?.digits, room: count) else { return nil }
        return (1...max(1, count)).prefix(count).map { number in
            // Close to what is there at an end, so that numbers do not run out; in the middle of a gap, and of an empty list.
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

    /// `size * number / parts`, which is between 1 and `size - 1`: the product may be greater than a word holds.
    static func share(_ size: Int, _ number: Int, of parts: Int) -> Int {
        parts.dividingFullWidth(size.multipliedFullWidth(by: number)).quotient
    }

    /// What lies between two fractions, in steps of their last common digit.
    struct Gap {
        /// The first digits of the lower.
        private let start: [Int]
        /// How many steps it is to the first digits of the upper: what is fewer than that above the start, and a step, lies between the two.
        let size: Int

        /// Takes as many digits as leave room for some.
        ///
        /// - Parameters:
        ///   - lower: the digits of the lower.
        ///   - upper: those of the upper; nil for 1.
        ///   - room: how many are to lie between.
        ///   - length: the least number of digits.
        init?(_ lower: [Int], _ upper: [Int]?, room: Int, length: Int = leastLength) {
            if let upper, !lower.lexicographicallyPrecedes(upper) { return nil }
            var start: [Int] = []
            var size = upper == nil ? 1 : 0
            while start.count < length || size <= room {
                let place = start.count
                start.append(place < lower.count ? lower[place] : 0)
                // From there on the digits were asked for, and it is wide enough for any number of positions.
                if size > 1 << 50 { continue }
                size = size * base + (upper.map { place < $0.count ? $0[place] : 0 } ?? 0) - start[place]
            }
            self.start = start
            self.size = size
        }

        /// The digits that lie so many steps above the lower.
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
    /// By bytes, as SQLite sorts them.
    public static func < (left: FractionalPosition, right: FractionalPosition) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// The digits.
    public var description: String { text }

    /// Reads the digits.
    ///
    /// - Parameter decoder: holds one string.
    /// - Throws: `DecodingError`, also where it is no position.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let position = FractionalPosition(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is no FractionalPosition.")
        }
        self = position
    }

    /// Writes the digits.
    ///
    /// - Parameter encoder: gets one string.
    /// - Throws: the encoder's error.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    /// The digits, as TEXT.
    public var databaseValue: DatabaseValue { text.databaseValue }

    /// Reads the digits; nil for anything else.
    public static func fromDatabaseValue(_ value: DatabaseValue) -> FractionalPosition? {
        String.fromDatabaseValue(value).flatMap { FractionalPosition($0) }
    }
}

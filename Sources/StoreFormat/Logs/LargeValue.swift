/// A value that a log names by its hash.
///
/// Its bytes are in a file of their own, `values/<hash>`.
package struct LargeValue: Hashable, Sendable {
    /// Whether the value is text; otherwise it is a blob.
    package var isText: Bool
    package var length: Int
    package var hash: ContentHash

    package init(isText: Bool, length: Int, hash: ContentHash) {
        self.isText = isText
        self.length = length
        self.hash = hash
    }

    /// The maximum length of a value in SQLite, in bytes (sqlite.org/limits.html).
    package static let limit = 1_000_000_000

    /// Returns the value for its bytes.
    package func value(_ bytes: [UInt8]) -> RecordValue { isText ? .text(bytes[...]) : .blob(bytes[...]) }

    /// A function that finds the value that a log names.
    ///
    /// The default is ``none``, for readers without large values.
    package typealias Lookup = (LargeValue) throws -> RecordValue

    package static var none: Lookup { { _ in throw LogFault.damaged("it names a value in a file of its own") } }
}

extension WireReader {
    package mutating func recordValue(_ lookUp: LargeValue.Lookup) throws -> RecordValue {
        var ahead = self
        guard try ahead.byte() == ValueTag.large else { return try recordValue() }
        let kind = try ahead.byte()
        guard kind == ValueTag.text || kind == ValueTag.blob else { throw Fault.malformed("a large value of type \(kind)") }
        guard let length = Int(exactly: try ahead.varint()), length <= LargeValue.limit, let hash = ContentHash(bytes: try ahead.take(32)) else {
            throw Fault.malformed("a large value whose length SQLite cannot hold")
        }
        self = ahead
        return try lookUp(LargeValue(isText: kind == ValueTag.text, length: length, hash: hash))
    }
}

extension WireWriter {
    package mutating func large(_ value: LargeValue) {
        byte(ValueTag.large)
        byte(value.isText ? ValueTag.text : ValueTag.blob)
        varint(UInt64(value.length))
        raw(value.hash.bytes)
    }
}

/// An error of a key-value store.
///
/// The message names the key, the limit, and the remedy; it never contains a value. When an operation throws it, nothing
/// has changed.
public struct KeyValueError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name.
        public let description: String

        /// A part of the value is no property list; ``KeyValueError/path`` says which.
        public static let notPropertyList = Code(description: "notPropertyList")
        /// The key is longer than ``KeyValueLimits/keyLength``, or contains a NUL character.
        public static let invalidKey = Code(description: "invalidKey")
        /// The store already has ``KeyValueLimits/keys`` keys.
        public static let tooManyKeys = Code(description: "tooManyKeys")
        /// The keys and values would take more than ``KeyValueLimits/size``.
        public static let tooLarge = Code(description: "tooLarge")
        /// Values were set for an account that is not signed in any more; they are in memory.
        public static let waitsForAccount = Code(description: "waitsForAccount")
        /// The store has been closed.
        public static let closed = Code(description: "closed")
    }

    /// The kind of failure.
    public let code: Code
    /// The failure and the remedy.
    public let message: String
    /// The key, or the path of the part of its value that is at fault, such as `settings.colors[3]`; empty for a value
    /// without a key.
    public let path: String

    init(_ code: Code, _ message: String, path: String = "") {
        self.code = code
        self.message = message
        self.path = path
    }

    /// The message.
    public var description: String { message }
}

extension KeyValueError {
    private static func subject(_ path: KeyPathText) -> String {
        path.description.isEmpty ? "The value" : "The value of \(path.description.debugDescription)"
    }

    static func notPropertyList(_ path: KeyPathText, _ type: any Any.Type) -> KeyValueError {
        KeyValueError(
            .notPropertyList,
            "\(subject(path)) is of the type \(type), which is no property list; use strings, numbers, booleans, data, dates, and arrays and dictionaries of them.",
            path: path.description)
    }

    static func noTextKey(_ path: KeyPathText) -> KeyValueError {
        KeyValueError(
            .notPropertyList, "\(subject(path)) is a dictionary with a key that is no string; use strings as keys.", path: path.description)
    }

    static func integerTooLarge(_ path: KeyPathText) -> KeyValueError {
        KeyValueError(
            .notPropertyList, "\(subject(path)) is an integer beyond 64 bits with a sign; use a real number or a string.", path: path.description)
    }

    static func tooDeep(_ path: KeyPathText) -> KeyValueError {
        KeyValueError(
            .notPropertyList,
            "\(subject(path)) lies in more than \(KeyValue.greatestDepth) arrays and dictionaries; use fewer, or store the value as data.",
            path: path.description)
    }

    static func closed(_ key: String) -> KeyValueError {
        KeyValueError(.closed, "The key-value store has been closed, so \(key.debugDescription) is not set; open it again.", path: key)
    }
}

public import Foundation

/// A value of a key-value store: a property list.
///
/// An integer, a real number and a boolean stay what they are: `.integer(1)`, `.real(1)` and `.boolean(true)` differ.
///
/// ```swift
/// let settings = KeyValue.dictionary(["colors": .array([.string("red"), .string("blue")]), "isOn": .boolean(true)])
/// try store.set(settings, forKey: "settings")
/// ```
public enum KeyValue: Sendable, Hashable {
    /// A text.
    case string(String)
    /// An integer of 64 bits with a sign.
    case integer(Int64)
    /// A floating-point number of 64 bits, also an infinite one or NaN.
    case real(Double)
    /// True or false.
    case boolean(Bool)
    /// Bytes.
    case data(Data)
    /// A moment, in seconds of type `Double` since the reference date.
    case date(Date)
    /// Values in an order.
    case array([KeyValue])
    /// Values by key.
    case dictionary([String: KeyValue])

    /// The greatest depth of arrays and dictionaries in one another; ``KeyValueError/Code/notPropertyList`` is the error
    /// of a deeper value.
    public static let greatestDepth = 128
}

extension KeyValue {
    /// Looks for arrays and dictionaries that lie too deep.
    ///
    /// - Parameters:
    ///   - path: the path of the value, for the error.
    ///   - depth: the number of arrays and dictionaries around it.
    /// - Throws: ``KeyValueError`` with `notPropertyList`.
    func checkDepth(at path: KeyPathText, _ depth: Int = 0) throws(KeyValueError) {
        switch self {
        case .array(let values):
            guard depth < Self.greatestDepth else { throw .tooDeep(path) }
            for (index, value) in values.enumerated() { try value.checkDepth(at: path.appending(index), depth + 1) }
        case .dictionary(let values):
            guard depth < Self.greatestDepth else { throw .tooDeep(path) }
            for (key, value) in values { try value.checkDepth(at: path.appending(key), depth + 1) }
        case .string, .integer, .real, .boolean, .data, .date: break
        }
    }
}

/// The path of a part of a value, such as `settings.colors[3]`, as errors show it.
struct KeyPathText: Sendable, Hashable, CustomStringConvertible {
    let description: String

    init(_ description: String = "") { self.description = description }

    func appending(_ index: Int) -> KeyPathText { KeyPathText("\(description)[\(index)]") }
    func appending(_ key: String) -> KeyPathText { KeyPathText(description.isEmpty ? key : "\(description).\(key)") }
}

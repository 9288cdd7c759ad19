package import Foundation

extension KeyValue {
    /// Makes a value from the objects of a property list.
    ///
    /// Strings, integers, floating-point numbers, booleans, `Data`, `Date`, arrays, and dictionaries with strings as keys
    /// are accepted, as are the classes of Foundation for them. An `NSNumber` keeps whether it is a boolean, an integer
    /// or a real number.
    ///
    /// - Parameter propertyList: the value.
    /// - Throws: ``KeyValueError`` with `notPropertyList`, whose ``KeyValueError/path`` leads to the part that is no
    ///   property list, such as `colors[3]`.
    public init(propertyList: Any) throws(KeyValueError) { try self.init(propertyList, at: KeyPathText(), depth: 0) }

    /// Makes the value of a key from the objects of a property list.
    init(propertyList: Any, of key: String) throws(KeyValueError) { try self.init(propertyList, at: KeyPathText(key), depth: 0) }

    private init(_ object: Any, at path: KeyPathText, depth: Int) throws(KeyValueError) {
        if let value = object as? KeyValue {
            try value.checkDepth(at: path, depth)
            self = value
        } else if type(of: object) is NSNumber.Type, let number = object as? NSNumber {
            // Asked first: a cast to `Bool` accepts the integer 1, and a cast to `Int` accepts true.
            self = try Self.value(of: number, at: path)
        } else if let scalar = try Self.scalar(object, at: path) {
            self = scalar
        } else if let array = object as? [Any] {
            guard depth < Self.greatestDepth else { throw .tooDeep(path) }
            var values: [KeyValue] = []
            values.reserveCapacity(array.count)
            for (index, element) in array.enumerated() { values.append(try KeyValue(element, at: path.appending(index), depth: depth + 1)) }
            self = .array(values)
        } else if let dictionary = object as? [AnyHashable: Any] {
            guard depth < Self.greatestDepth else { throw .tooDeep(path) }
            var values: [String: KeyValue] = [:]
            for (key, element) in dictionary {
                guard let key = key.base as? String else { throw .noTextKey(path) }
                values[key] = try KeyValue(element, at: path.appending(key), depth: depth + 1)
            }
            self = .dictionary(values)
        } else if let wrapped = Self.unwrapped(object) {
            self = try KeyValue(wrapped, at: path, depth: depth)
        } else {
            throw .notPropertyList(path, type(of: object))
        }
    }

    private static func scalar(_ object: Any, at path: KeyPathText) throws(KeyValueError) -> KeyValue? {
        switch object {
        case let value as Bool: return .boolean(value)
        case let value as any BinaryInteger:
            guard let integer = Int64(exactly: value) else { throw .integerTooLarge(path) }
            return .integer(integer)
        case let value as Double: return .real(value)
        case let value as Float: return .real(Double(value))
        case let value as CGFloat: return .real(Double(value))
        case let value as String: return .string(value)
        case let value as Substring: return .string(String(value))
        case let value as Data: return .data(value)
        case let value as Date: return .date(value)
        default: return nil
        }
    }

    private static func value(of number: NSNumber, at path: KeyPathText) throws(KeyValueError) -> KeyValue {
        // Foundation has one object for true, and one for false.
        if number === NSNumber(value: true) { return .boolean(true) }
        if number === NSNumber(value: false) { return .boolean(false) }
        switch number.objCType.pointee {
        case CChar(bitPattern: UInt8(ascii: "d")), CChar(bitPattern: UInt8(ascii: "f")): return .real(number.doubleValue)
        case CChar(bitPattern: UInt8(ascii: "Q")) where number.uint64Value > UInt64(Int64.max): throw .integerTooLarge(path)
        default: return .integer(number.int64Value)
        }
    }

    /// Returns the value in an optional; nil if there is none, or the object is no optional.
    private static func unwrapped(_ object: Any) -> Any? {
        let mirror = Mirror(reflecting: object)
        guard mirror.displayStyle == .optional else { return nil }
        return mirror.children.first?.value
    }

    /// The value as the objects of a property list: `String`, `Int`, `Double`, `Bool`, `Data`, `Date`, `[Any]` and
    /// `[String: Any]`.
    public var propertyList: Any {
        switch self {
        case .string(let value): value
        case .integer(let value): Int(exactly: value) ?? value
        case .real(let value): value
        case .boolean(let value): value
        case .data(let value): value
        case .date(let value): value
        case .array(let values): values.map(\.propertyList)
        case .dictionary(let values): values.mapValues(\.propertyList)
        }
    }
}

extension KeyValue {
    /// Reads a binary property list that somebody else may have written.
    package init(decoding bytes: Data) throws { self = try BinaryPropertyListReader.decode(bytes) }

    /// The value as a binary property list; equal values have equal bytes.
    package var encoded: Data { BinaryPropertyList.encode(self) }
}

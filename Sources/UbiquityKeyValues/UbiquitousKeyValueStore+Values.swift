public import Foundation

// MARK: Reading

extension UbiquitousKeyValueStore {
    /// All values by key.
    public var values: [String: KeyValue] { shared.visible.mapValues(\.value) }

    /// All values by key, as the objects of a property list.
    public var dictionaryRepresentation: [String: Any] { shared.visible.mapValues(\.value.propertyList) }

    /// Returns the value of a key; nil if there is none.
    public func value(forKey key: String) -> KeyValue? { shared.value(for: key) }

    /// Returns the value of a key as an object of a property list, as ``KeyValue/propertyList`` describes; nil if there is
    /// none.
    public func object(forKey key: String) -> Any? { value(forKey: key)?.propertyList }

    /// Returns the string of a key; nil if there is none.
    public func string(forKey key: String) -> String? { if case .string(let value)? = value(forKey: key) { value } else { nil } }

    /// Returns the array of a key; nil if there is none.
    public func array(forKey key: String) -> [Any]? { object(forKey: key) as? [Any] }

    /// Returns the dictionary of a key; nil if there is none.
    public func dictionary(forKey key: String) -> [String: Any]? { object(forKey: key) as? [String: Any] }

    /// Returns the data of a key; nil if there are none.
    public func data(forKey key: String) -> Data? { if case .data(let value)? = value(forKey: key) { value } else { nil } }

    /// Returns the number of a key as an integer: without the fraction of a real number, 1 for true, and 0 if there is no
    /// number or it does not fit.
    public func longLong(forKey key: String) -> Int64 {
        switch value(forKey: key) {
        case .integer(let value): value
        case .real(let value): Int64(exactly: value.rounded(.towardZero)) ?? 0
        case .boolean(let value): value ? 1 : 0
        default: 0
        }
    }

    /// Returns the number of a key as a real number: 1 for true, and 0 if there is no number.
    public func double(forKey key: String) -> Double {
        switch value(forKey: key) {
        case .integer(let value): Double(value)
        case .real(let value): value
        case .boolean(let value): value ? 1 : 0
        default: 0
        }
    }

    /// Returns the boolean of a key: true also for a number other than 0, and false if there is neither.
    public func bool(forKey key: String) -> Bool {
        switch value(forKey: key) {
        case .integer(let value): value != 0
        case .real(let value): value != 0
        case .boolean(let value): value
        default: false
        }
    }
}

// MARK: Setting

extension UbiquitousKeyValueStore {
    /// Sets the value of a key.
    ///
    /// It is readable at once, and saved after the store's delay.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - key: the key.
    /// - Throws: ``KeyValueError`` if the key is too long, there are too many keys or bytes, the value lies too deep, or
    ///   the store is closed; nothing has changed then.
    public func set(_ value: KeyValue, forKey key: String) throws(KeyValueError) {
        if try shared.set(value, for: key) { keeper.saveLater() }
    }

    /// Sets the value of a key to an object of a property list, as ``KeyValue/init(propertyList:)`` describes.
    ///
    /// - Parameters:
    ///   - object: the value; nil removes the key.
    ///   - key: the key.
    /// - Throws: ``KeyValueError`` with the path of what is no property list, or if the key is too long, there are too many
    ///   keys or bytes, or the store is closed; nothing has changed then.
    public func set(_ object: Any?, forKey key: String) throws(KeyValueError) {
        guard let object else { return try setNil(forKey: key) }
        try set(KeyValue(propertyList: object, of: key), forKey: key)
    }

    /// Sets the value of a key to a string; nil removes the key.
    public func set(_ string: String?, forKey key: String) throws(KeyValueError) { try setOptional(string.map(KeyValue.string), forKey: key) }

    /// Sets the value of a key to data; nil removes the key.
    public func set(_ data: Data?, forKey key: String) throws(KeyValueError) { try setOptional(data.map(KeyValue.data), forKey: key) }

    /// Sets the value of a key to an array of objects of a property list; nil removes the key.
    public func set(_ array: [Any]?, forKey key: String) throws(KeyValueError) { try set(array as Any?, forKey: key) }

    /// Sets the value of a key to a dictionary of objects of a property list; nil removes the key.
    public func set(_ dictionary: [String: Any]?, forKey key: String) throws(KeyValueError) { try set(dictionary as Any?, forKey: key) }

    /// Sets the value of a key to an integer.
    public func set(_ integer: Int64, forKey key: String) throws(KeyValueError) { try set(KeyValue.integer(integer), forKey: key) }

    /// Sets the value of a key to a real number.
    public func set(_ real: Double, forKey key: String) throws(KeyValueError) { try set(KeyValue.real(real), forKey: key) }

    /// Sets the value of a key to true or false.
    public func set(_ boolean: Bool, forKey key: String) throws(KeyValueError) { try set(KeyValue.boolean(boolean), forKey: key) }

    /// Removes a key.
    ///
    /// The removal is exchanged like a value: it wins over earlier values, and a later value wins over it. A key that no
    /// store can have, and a closed store, change nothing.
    ///
    /// - Parameter key: the key.
    public func removeObject(forKey key: String) {
        if shared.remove(key) { keeper.saveLater() }
    }

    private func setOptional(_ value: KeyValue?, forKey key: String) throws(KeyValueError) {
        guard let value else { return try setNil(forKey: key) }
        try set(value, forKey: key)
    }

    private func setNil(forKey key: String) throws(KeyValueError) {
        _ = try KeyValueLimits.checked(key)
        guard !shared.isClosed else { throw .closed(key) }
        removeObject(forKey: key)
    }
}

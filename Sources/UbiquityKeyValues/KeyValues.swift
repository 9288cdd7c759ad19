/// The keys and values of a key-value store in memory: what the file holds, and what is not in it yet.
///
/// A change is *pending* until a save takes it, and *saving* until that save has ended. Either wins over what is read
/// from the file.
struct KeyValues: Sendable, Equatable {
    /// A value with its form in the table.
    struct Entry: Sendable, Equatable {
        let value: KeyValue
        let stored: KeyValueColumn

        init(_ value: KeyValue) {
            self.value = value
            stored = KeyValueColumn(value)
        }

        /// Reads a value of the table; nil for one that this version does not know.
        init?(_ stored: KeyValueColumn) {
            guard let value = stored.value else { return nil }
            self.value = value
            self.stored = stored
        }

        static func == (left: Entry, right: Entry) -> Bool { left.stored == right.stored }
    }

    /// The changes of keys; a removal is nil.
    typealias Changes = [String: Entry?]

    /// What a save writes.
    struct Taken: Sendable, Equatable {
        var changes: Changes
        /// The account whose values were shown when they were set; empty while nobody was signed in.
        var account: String
    }

    /// The account of the file that was read last; empty for the local file, nil before the first read.
    private(set) var account: String?
    /// The account whose values are expected before the first read.
    private var expected: String?
    private var confirmed: [String: Entry] = [:]
    private var saving: Changes = [:]
    private var pending: Changes = [:]
    /// Changes that no save has taken before their account was gone, by account.
    private var strays: [String: Changes] = [:]
    /// What is read: the confirmed values with all changes.
    private(set) var visible: [String: Entry] = [:]
    /// The size of what is read, in bytes.
    private(set) var size = 0

    /// Whether a change waits for a save.
    var hasPending: Bool { !pending.isEmpty }
    /// Whether a change is in no file yet.
    var hasUnsaved: Bool { !pending.isEmpty || !saving.isEmpty }

    // MARK: Setting

    /// Sets a value.
    ///
    /// A change that makes a store smaller is accepted even where other devices have filled it beyond the limits.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - key: the key.
    /// - Throws: ``KeyValueError``; nothing has changed then.
    mutating func set(_ value: KeyValue, for key: String) throws(KeyValueError) {
        let normal = try KeyValueLimits.checked(key)
        try value.checkDepth(at: KeyPathText(key))
        let entry = Entry(value)
        let old = visible[normal]
        if old == nil, visible.count >= KeyValueLimits.keys {
            throw KeyValueError(
                .tooManyKeys,
                "The store has \(visible.count) keys, and \(key.debugDescription) would be one more; remove keys, or put several values into one dictionary: the limit is \(KeyValueLimits.keys).",
                path: key)
        }
        let (before, after) = (Self.size(of: old, normal), Self.size(of: entry, normal))
        guard after <= before || size - before + after <= KeyValueLimits.size else {
            throw KeyValueError(
                .tooLarge,
                "The store has \(size) bytes, and \(size - before + after) with the value of \(key.debugDescription); remove values, or keep large ones in files: the limit is \(KeyValueLimits.size).",
                path: key)
        }
        pending[normal] = .some(entry)
        show(entry, for: normal)
    }

    /// Removes a key.
    mutating func remove(_ key: String) {
        guard let key = try? KeyValueLimits.checked(key) else { return }
        pending[key] = .some(nil)
        show(nil, for: key)
    }

    private mutating func show(_ entry: Entry?, for key: String) {
        size += Self.size(of: entry, key) - Self.size(of: visible[key], key)
        visible[key] = entry
    }

    private static func size(of entry: Entry?, _ key: String) -> Int { entry.map { key.utf8.count + $0.stored.size } ?? 0 }

    // MARK: Saving

    /// Takes all pending changes for a save; nil if there are none, or nothing has been read yet.
    ///
    /// The save must end with ``finishSave()`` or ``failSave()`` before the next call.
    mutating func take() -> Taken? {
        guard !pending.isEmpty, let account else { return nil }
        precondition(saving.isEmpty, "A save has not ended: \(saving.keys.sorted())")
        (saving, pending) = (pending, [:])
        return Taken(changes: saving, account: account)
    }

    /// Reports that the taken changes are in the file.
    mutating func finishSave() {
        for (key, entry) in saving { confirmed[key] = entry }
        saving = [:]
    }

    /// Reports that the taken changes are not in the file: they are pending again, unless they have been changed since.
    mutating func failSave() {
        pending.merge(saving) { later, _ in later }
        saving = [:]
    }

    // MARK: Reading

    /// Notes whose values are expected, before the first read; they are given to nobody else.
    mutating func begin(of account: String) { if self.account == nil, expected == nil { expected = account } }

    /// Takes in what has been read from the file.
    ///
    /// If the file is another account's, the changes that were made to the former account's values wait until that
    /// account returns. Changes made while nobody was signed in belong to the account that signs in.
    ///
    /// - Parameters:
    ///   - values: everything that the file holds.
    ///   - account: the account of the file; empty for the local one.
    /// - Returns: the keys whose visible values have changed, in the order of their bytes.
    mutating func merge(_ values: [String: Entry], of account: String) -> [String] {
        precondition(saving.isEmpty, "The file is read while a save runs: \(saving.keys.sorted())")
        if let former = self.account ?? expected, former != account {
            if !former.isEmpty {
                strays[former] = pending.isEmpty ? nil : pending
                pending = [:]
            }
            pending.merge(strays.removeValue(forKey: account) ?? [:]) { later, _ in later }
        }
        self.account = account
        confirmed = values
        let before = visible
        visible = values
        for (key, entry) in pending { visible[key] = entry }
        size = visible.reduce(0) { $0 + Self.size(of: $1.value, $1.key) }
        return Set(before.keys).union(visible.keys).filter { before[$0] != visible[$0] }.inByteOrder
    }

    /// The keys that do not fit into the limits, as the values of several devices together may exceed them.
    ///
    /// Keys fit in the order of their bytes, so all devices name the same.
    var overflow: [String] {
        guard visible.count > KeyValueLimits.keys || size > KeyValueLimits.size else { return [] }
        var (keys, size, rest) = (0, 0, [String]())
        for key in visible.keys.inByteOrder {
            let next = size + Self.size(of: visible[key], key)
            if keys < KeyValueLimits.keys, next <= KeyValueLimits.size { (keys, size) = (keys + 1, next) } else { rest.append(key) }
        }
        return rest
    }
}

extension Collection<String> {
    /// The texts in the order of their bytes.
    var inByteOrder: [String] { sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
}

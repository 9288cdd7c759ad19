internal import Synchronization
internal import UbiquityContainers

/// The state that a key-value store's handle and its keeper share, and the observers of its changes.
final class SharedKeyValues: Sendable {
    fileprivate struct State {
        var values = KeyValues()
        var place = ShownKeyValueFile()
        /// Whether a save will take what is pending.
        var isScheduled = false
        var isClosed = false
        var failure: (any Error)?
        /// The keys that have been told not to fit.
        var overflow: [String] = []
    }

    private let state = Mutex(State())
    let changes = Broadcast<KeyValueChange>()

    // MARK: For the handle

    var visible: [String: KeyValues.Entry] { state.withLock { $0.values.visible } }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    var failure: (any Error)? { state.withLock { $0.failure } }

    func value(for key: String) -> KeyValue? {
        guard let key = try? KeyValueLimits.checked(key) else { return nil }
        return state.withLock { $0.values.visible[key]?.value }
    }

    /// Sets a value.
    ///
    /// - Returns: whether a save must be scheduled.
    func set(_ value: KeyValue, for key: String) throws(KeyValueError) -> Bool {
        try state.withLock { state throws(KeyValueError) in
            guard !state.isClosed else { throw .closed(key) }
            try state.values.set(value, for: key)
            return state.schedule()
        }
    }

    /// Removes a key.
    ///
    /// - Returns: whether a save must be scheduled.
    func remove(_ key: String) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.values.remove(key)
            return state.schedule()
        }
    }

    /// Refuses changes from now on; or accepts them again.
    func setClosed(_ isClosed: Bool) { state.withLock { $0.isClosed = isClosed } }

    // MARK: For the keeper

    var hasPending: Bool { state.withLock { $0.values.hasPending } }
    var hasUnsaved: Bool { state.withLock { $0.values.hasUnsaved } }

    /// Notes whose values are expected, before the first file is read.
    func begin(of account: String) { state.withLock { $0.values.begin(of: account) } }

    /// Notes that a save is scheduled if changes are pending; returns whether it was not.
    func schedule() -> Bool { state.withLock { $0.schedule() } }

    /// Notes that the scheduled save begins, so that later changes schedule another.
    func beginScheduled() { state.withLock { $0.isScheduled = false } }

    func note(_ failure: (any Error)?) { state.withLock { $0.failure = failure } }

    func take() -> KeyValues.Taken? { state.withLock { $0.values.take() } }

    func finishSave() { state.withLock { $0.values.finishSave() } }

    func failSave() { state.withLock { $0.values.failSave() } }

    /// Takes in what has been read from the file, and tells observers.
    ///
    /// - Parameters:
    ///   - values: everything that the file holds.
    ///   - file: which file it is.
    ///   - isObserved: whether the app could have read values before the first file was read.
    func merge(_ values: [String: KeyValues.Entry], from file: KeyValueFile, isObserved: Bool) {
        let told = state.withLock { state -> [KeyValueChange] in
            let keys = state.values.merge(values, of: file.account)
            var told: [KeyValueChange] = []
            switch state.place.read(file) {
            case nil: if isObserved, !keys.isEmpty { told.append(KeyValueChange(.initialSync, keys)) }
            case .serverChange: if !keys.isEmpty { told.append(KeyValueChange(.serverChange, keys)) }
            case let reason?:
                told.append(KeyValueChange(reason, keys))
                if reason == .accountChange { state.overflow = [] }
            }
            let overflow = state.values.overflow
            if !overflow.isEmpty, overflow != state.overflow { told.append(KeyValueChange(.quotaViolation, overflow)) }
            state.overflow = overflow
            return told
        }
        tell(told)
    }

    /// Tells observers of the end of an initial sync, unless they know.
    func gathered(_ account: String) {
        if state.withLock({ $0.place.gathered(account) }) { tell([KeyValueChange(.initialSync, [])]) }
    }

    private func tell(_ told: [KeyValueChange]) { for change in told { changes.post { _ in change } } }
}

extension SharedKeyValues.State {
    fileprivate mutating func schedule() -> Bool {
        guard values.hasPending, !isScheduled else { return false }
        isScheduled = true
        return true
    }
}

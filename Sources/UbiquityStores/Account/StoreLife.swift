internal import StoreExchange
internal import UbiquityContainers

/// The pure state machine that decides which file a store uses and how it changes files; <doc:StoreLife> shows its
/// table.
///
/// Its inputs are facts (``identify(_:)``, ``gather(_:)``). Its output is the next step (``step``), one at a time. The
/// caller performs the step and reports the outcome (``complete(_:)``, ``fail()``). Facts that arrive during a
/// transition wait for its end: a transition that handlers have been told about is always completed.
struct StoreLife: Equatable, Sendable {
    typealias Place = StoreTransition.Place

    /// The way from one place to another.
    struct Passage: Hashable, Sendable {
        var from: Place
        var to: Place
        /// Whether the saves at `from` are joined into `to`.
        var joins = false

        var kind: StoreTransition.Kind {
            switch (from, to) {
            case (_, .local): .accountRemoved
            case (.fallback(let old), .account(let new)) where old == new: .initialImportCompleted
            default: .accountAdded
            }
        }
    }

    /// A step for the caller to perform.
    enum Step: Hashable, Sendable {
        /// Ask whether to join the saves that were made while nobody was signed in.
        case ask(Passage)
        /// Open the other file, and join most of the saves into it.
        case prepare(Passage)
        /// Tell handlers that the file will change, and wait for them; they can still save to the old file.
        case tellWillChange(Passage)
        /// Join the rest, and change files.
        case swap(Passage)
        /// Announce that the file has changed.
        case tellDidChange(Passage)
    }

    /// The place of the file in use.
    private(set) var place: Place
    /// The account that is signed in.
    private(set) var account: AccountName?
    /// The accounts whose content has been read once, as far as it was known then: their files are used at once.
    private(set) var gathered: Set<AccountName>
    /// The step in progress.
    private(set) var step: Step?

    /// Begins a life.
    ///
    /// - Parameters:
    ///   - place: the place of saves that are not yet where they belong; nil for the place where the store belongs.
    ///   - account: the account that is signed in.
    ///   - gathered: the accounts whose content has been read.
    init(at place: Place? = nil, account: AccountName?, gathered: Set<AccountName>) {
        self.account = account
        self.gathered = gathered
        self.place = .local
        self.place = place ?? goal
        begin()
    }

    /// The place where the store belongs, by the present facts.
    private var goal: Place {
        guard let account else { return .local }
        return gathered.contains(account) ? .account(account) : .fallback(account)
    }

    /// Whether there is nothing to do: the store is where it belongs, and the account's content has been read.
    var isAtRest: Bool { step == nil && place == goal && gathering == nil }

    /// The signed-in account if its content has not been read; else nil.
    var gathering: AccountName? { account.flatMap { gathered.contains($0) ? nil : $0 } }

    /// Reports which account is signed in.
    mutating func identify(_ account: AccountName?) {
        self.account = account
        // No handler has been told yet, so a question that no longer applies is withdrawn.
        if case .ask(let passage) = step, passage.to.account != account { step = nil }
        begin()
    }

    /// Reports that an account's content has been read.
    mutating func gather(_ account: AccountName) {
        gathered.insert(account)
        begin()
    }

    /// Reports that an account's content must be read again before its file is used.
    mutating func scatter(_ account: AccountName) {
        gathered.remove(account)
        begin()
    }

    /// Reports that a step is done.
    ///
    /// - Parameter done: the step. A question ends with ``answer(_:joins:)`` instead. A step that is not in progress
    ///   changes nothing.
    mutating func complete(_ done: Step) {
        guard step == done else { return }
        switch done {
        case .ask: break
        case .prepare(let passage): step = .tellWillChange(passage)
        case .tellWillChange(let passage): step = .swap(passage)
        case .swap(let passage):
            place = passage.to
            step = .tellDidChange(passage)
        case .tellDidChange:
            step = nil
            begin()
        }
    }

    /// Reports the answer to ``Step/ask(_:)``.
    mutating func answer(_ asked: Passage, joins: Bool) {
        guard step == .ask(asked) else { return }
        var passage = asked
        passage.joins = joins
        step = .prepare(passage)
    }

    /// Reports that the step failed: the store stays where it is until ``retry()``.
    mutating func fail() {
        switch step {
        // A change that handlers have been told about continues from the failed step.
        case .tellWillChange, .swap, .tellDidChange, nil: break
        case .ask, .prepare: step = nil
        }
    }

    /// Tries again after a failure.
    mutating func retry() { begin() }

    private mutating func begin() {
        guard step == nil, place != goal else { return }
        let passage = Passage(from: place, to: goal)
        switch (place, goal) {
        case (.local, _): step = .ask(passage)
        case (.fallback(let old), .account(let new)) where old == new: step = .prepare(Passage(from: place, to: goal, joins: true))
        default: step = .prepare(passage)
        }
    }
}

internal import StoreExchange
internal import UbiquityContainers

/// Which file a store uses, and how it comes to another: a pure state machine (DESIGN §6; its table stands in <doc:StoreLife>).
///
/// It is told what is so (``identify(_:)``, ``gather(_:)``) and says what is to be done next (``step``), one thing at a time; who does it says how
/// it went (``complete(_:)``, ``fail()``). What comes to be known during a transition waits for its end: each transition that is told to handlers is told to its end.
struct StoreLife: Equatable, Sendable {
    typealias Place = StoreTransition.Place

    /// The way from one place to another.
    struct Passage: Hashable, Sendable {
        var from: Place
        var to: Place
        /// Whether what was saved at the one is joined into the other.
        var joins = false

        var kind: StoreTransition.Kind {
            switch (from, to) {
            case (_, .local): .accountRemoved
            case (.fallback(let old), .account(let new)) where old == new: .initialImportCompleted
            default: .accountAdded
            }
        }
    }

    /// What is to be done.
    enum Step: Hashable, Sendable {
        /// Ask whether what was saved while nobody was signed in is to be joined.
        case ask(Passage)
        /// Open the other file, and bring it close to what is to be in it.
        case prepare(Passage)
        /// Tell handlers that the file will change, and wait for them; they can still save to the old one.
        case tellWillChange(Passage)
        /// Join the rest, and change files.
        case swap(Passage)
        /// Tell that the file has changed.
        case tellDidChange(Passage)
    }

    /// The file in use.
    private(set) var place: Place
    /// The account that is signed in.
    private(set) var account: AccountName?
    /// The accounts whose content has been read once as far as it was known: their files are used at once.
    private(set) var gathered: Set<AccountName>
    /// What is under way.
    private(set) var step: Step?

    /// A life that begins.
    ///
    /// - Parameters:
    ///   - place: where what was saved last is still to be found, and is to go elsewhere from; nil for where the store is to be.
    ///   - account: the account that is signed in.
    ///   - gathered: the accounts whose content has been read.
    init(at place: Place? = nil, account: AccountName?, gathered: Set<AccountName>) {
        self.account = account
        self.gathered = gathered
        self.place = .local
        self.place = place ?? goal
        begin()
    }

    /// Where the store is to be, by what is known.
    private var goal: Place {
        guard let account else { return .local }
        return gathered.contains(account) ? .account(account) : .fallback(account)
    }

    /// Whether nothing is to be done: the store is where it is to be, and the account's content has been read.
    var isAtRest: Bool { step == nil && place == goal && gathering == nil }

    /// The account whose content is to be gathered; nil where there is none, or its content has been.
    var gathering: AccountName? { account.flatMap { gathered.contains($0) ? nil : $0 } }

    /// Learns who is signed in.
    mutating func identify(_ account: AccountName?) {
        self.account = account
        // Nobody has been told yet: a question that is no longer one is taken back.
        if case .ask(let passage) = step, passage.to.account != account { step = nil }
        begin()
    }

    /// Learns that an account's content has been read.
    mutating func gather(_ account: AccountName) {
        gathered.insert(account)
        begin()
    }

    /// Learns that the account's file is not to be used before its content has been read anew.
    mutating func scatter(_ account: AccountName) {
        gathered.remove(account)
        begin()
    }

    /// Learns that a step is done.
    ///
    /// - Parameter done: the step, but for a question, which ``answer(_:joins:)`` ends; one that is not under way changes nothing.
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

    /// Learns the answer to ``Step/ask(_:)``.
    mutating func answer(_ asked: Passage, joins: Bool) {
        guard step == .ask(asked) else { return }
        var passage = asked
        passage.joins = joins
        step = .prepare(passage)
    }

    /// Learns that the step could not be done: the store stays where it is, until ``retry()``.
    mutating func fail() {
        switch step {
        // What has been told to handlers goes on where it stopped.
        case .tellWillChange, .swap, .tellDidChange, nil: break
        case .ask, .prepare: step = nil
        }
    }

    /// Sets out again after a failure.
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

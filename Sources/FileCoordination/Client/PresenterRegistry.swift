import Foundation
import SystemPackage

/// The presenters of this process, by weak reference: a leaked registration can block nobody (C-59).
struct PresenterRegistry: Sendable {
    /// A presenter, and the messages that wait for it.
    struct Entry: Sendable {
        weak var presenter: (any FilePresenter)?
        /// Known without a reference to the presenter: the last one may not go under the client's lock, for its `deinit` may come back here.
        let isWitness: Bool
        /// The presenter's URL as it last gave it; what it is told of is spelled like this.
        var location: Location?
        /// The attributes that it observes (C-43).
        var observed: Set<String>
        /// Messages in the order of the arbiter's actions.
        var mailbox: [Delivery] = []
        /// Whether a task is at work on the mailbox.
        var isDraining = false
        /// Where that task runs; one for each presenter, for its methods may block.
        let executor = TurnExecutor("file presenter")
        /// What presenters want to be done when a claim for which they relinquished has ended, by that message.
        var reacquirers: [MessageID: Reacquirer] = [:]
        /// What it was last told of each version: its author tells of one, and so does each process that watches.
        private var versions: [Version: PresenterMessage.VersionEvent] = [:]

        private struct Version: Hashable, Sendable {
            let identifier: String
            let subitem: FilePath?
        }

        init(presenter: any FilePresenter, location: Location?, observed: Set<String>) {
            self.presenter = presenter
            self.observed = observed
            isWitness = presenter is any CoordinationWitness
            self.location = location
        }

        /// Takes note of what the presenter is about to be told.
        ///
        /// - Returns: false where it is what it was last told of that version.
        mutating func isNews(_ message: PresenterMessage) -> Bool {
            switch message {
            case .version(let event, let identifier): note(event, Version(identifier: identifier, subitem: nil))
            case .subitemVersion(let event, let identifier, let path): note(event, Version(identifier: identifier, subitem: path))
            default: true
            }
        }

        private mutating func note(_ event: PresenterMessage.VersionEvent, _ version: Version) -> Bool {
            versions.updateValue(event, forKey: version) != event
        }
    }

    var entries: [PresenterID: Entry] = [:]
    /// Numbers of live objects, registered or not; an object that took a dead one's address gets a number of its own.
    private var numbers: [ObjectIdentifier: (number: UInt64, object: Weak)] = [:]
    private var nextNumber: UInt64 = 0

    private struct Weak: Sendable {
        weak var object: (any FilePresenter)?
    }

    /// The number that stands for a presenter for as long as it lives.
    mutating func id(of presenter: any FilePresenter, in client: ClientID) -> PresenterID {
        let key = ObjectIdentifier(presenter)
        if let known = numbers[key], known.object.object === presenter { return PresenterID(client, known.number) }
        if numbers.count > 2 * entries.count + 64 {
            numbers = numbers.filter { $0.value.object.object != nil || entries[PresenterID(client, $0.value.number)] != nil }
        }
        nextNumber += 1
        numbers[key] = (nextNumber, Weak(object: presenter))
        return PresenterID(client, nextNumber)
    }

    /// The number of an object that may be on its way out, when weak references to it are nil already.
    func id(ofDeparting presenter: any FilePresenter, in client: ClientID) -> PresenterID? {
        numbers[ObjectIdentifier(presenter)].map { PresenterID(client, $0.number) }
    }

    /// Removes a presenter.
    mutating func remove(_ id: PresenterID) {
        entries[id] = nil
    }
}

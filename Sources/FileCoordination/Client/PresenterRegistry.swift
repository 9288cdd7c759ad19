import Foundation
import SystemPackage

/// The presenters of this process, by weak reference: a leaked registration cannot block other claims.
struct PresenterRegistry: Sendable {
    /// A presenter and its pending messages.
    struct Entry: Sendable {
        weak var presenter: (any FilePresenter)?
        /// Stored here because the last reference to the presenter must not be released under the client's lock: its
        /// `deinit` may call back here.
        let isWitness: Bool
        /// The presenter's last URL; URLs in messages follow its spelling.
        var location: Location?
        /// Identifies its item, wherever that is moved; a presenter that takes another item gets another number.
        fileprivate(set) var item: UInt64 = 0
        /// The attributes that it observes.
        var observed: Set<String>
        /// Messages in the order of the arbiter's actions.
        var mailbox: [Delivery] = []
        /// Whether a task is handling the messages.
        var isDraining = false
        /// Runs that task; each presenter has its own, because its methods may block.
        let executor = TurnExecutor("file presenter")
        /// The reacquirers of presenters, by the relinquish message to which they belong.
        var reacquirers: [MessageID: Reacquirer] = [:]
        /// The last message about each version: both the author of a version and every process that watches report it.
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

        /// Records a message for the presenter.
        ///
        /// - Returns: false if it repeats the last message about that version.
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
    /// The numbers of live objects, registered or not; a new object at the address of a released one gets a new number.
    private var numbers: [ObjectIdentifier: (number: UInt64, object: Weak)] = [:]
    private var nextNumber: UInt64 = 0
    private var nextItem: UInt64 = 0

    private struct Weak: Sendable {
        weak var object: (any FilePresenter)?
    }

    /// Returns the identifier of a presenter, which stays valid while the presenter lives.
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

    /// Returns the identifier of an object during its `deinit`, when weak references to it are already nil.
    func id(ofDeparting presenter: any FilePresenter, in client: ClientID) -> PresenterID? {
        numbers[ObjectIdentifier(presenter)].map { PresenterID(client, $0.number) }
    }

    /// Adds a presenter.
    mutating func add(_ entry: Entry, as id: PresenterID) {
        entries[id] = entry
        noteOtherItem(of: id)
    }

    /// Records that a presenter presents another item than before, not the same item at another place.
    mutating func noteOtherItem(of id: PresenterID) {
        nextItem += 1
        entries[id]?.item = nextItem
    }

    /// Removes a presenter.
    mutating func remove(_ id: PresenterID) {
        entries[id] = nil
    }
}

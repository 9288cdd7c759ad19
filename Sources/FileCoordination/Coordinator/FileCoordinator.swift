import Foundation
import Synchronization
import SystemPackage

/// Reads and writes files in turn with others, and lets those who present the files save, let go, and hear of the outcome.
///
/// ```swift
/// let coordinator = FileCoordinator()
/// let text = try await coordinator.read(url) { url in try String(contentsOf: url, encoding: .utf8) }
/// try await coordinator.write(url) { url in try Data(text.utf8).write(to: url) }
/// ```
///
/// Accesses of one coordinator, of coordinators made for one presenter, and of coordinators with one purpose never wait for each other
/// (C-09): a coordinator protects against others, not against yourself. Make one for each operation, as in Cocoa.
///
/// An access waits for as long as it takes; give a deadline, or cancel the task or the coordinator, to give up. An access that would
/// wait for itself fails with ``FileCoordinationError/Code/deadlock``.
public final class FileCoordinator: Sendable {
    /// When to give up waiting for an access.
    ///
    /// It limits the wait, not the accessor: an access that was granted in time goes on for as long as its accessor runs.
    public enum Deadline: Sendable, Hashable {
        /// So long after the call.
        case after(Duration)
        /// At this time.
        case at(ContinuousClock.Instant)

        var remaining: Duration {
            switch self {
            case .after(let duration): duration
            case .at(let instant): ContinuousClock.now.duration(to: instant)
            }
        }
    }

    private struct Settings {
        var purpose: Purpose
        var isCancelled = false
    }

    let client: CoordinationClient
    /// This coordinator among those of its client.
    let number: UInt64
    let presenter: PresenterID?
    private let settings: Mutex<Settings>

    /// Makes a coordinator.
    ///
    /// - Parameter filePresenter: the presenter on whose behalf it works, which gets no messages about what the coordinator does
    ///   (C-33) and waits for none of its other coordinators (C-09). It is not retained, and need not be registered.
    public convenience init(filePresenter: (any FilePresenter)? = nil) {
        self.init(filePresenter: filePresenter, client: .shared)
    }

    package init(filePresenter: (any FilePresenter)? = nil, client: CoordinationClient) {
        self.client = client
        number = client.newCoordinator()
        presenter = filePresenter.map { client.id(of: $0) }
        settings = Mutex(Settings(purpose: presenter.map { .presenter($0) } ?? .coordinator(client.id, number)))
    }

    // MARK: Purpose

    /// On whose behalf the coordinator works: accesses of one purpose never wait for each other, not even across processes (C-09).
    ///
    /// Unique by default. It can be set once, to something other than "", on a coordinator that was made without a presenter; all
    /// else is a programmer's error (C-10).
    public var purposeIdentifier: String {
        get { settings.withLock { $0.purpose.description } }
        set {
            precondition(!newValue.isEmpty, "A purpose identifier must not be empty")
            settings.withLock { settings in
                guard case .coordinator = settings.purpose else {
                    preconditionFailure(
                        "The purpose identifier \(newValue) cannot be set: the coordinator has \(settings.purpose), "
                            + "from an earlier setting or from its presenter")
                }
                settings.purpose = .named(newValue)
            }
        }
    }

    var purpose: Purpose { settings.withLock { $0.purpose } }

    /// The purpose, for a new access.
    ///
    /// - Throws: `CocoaError.userCancelled` once the coordinator is cancelled.
    func purposeUnlessCancelled() throws -> Purpose {
        let (purpose, isCancelled) = settings.withLock { ($0.purpose, $0.isCancelled) }
        if isCancelled { throw CocoaError.coordinatorCancelled }
        return purpose
    }

    // MARK: Cancelling

    /// Gives up every access of this coordinator that still waits, and refuses later ones, with `CocoaError.userCancelled`.
    ///
    /// Returns at once, on any thread. An accessor that runs already finishes normally. Messages that presenters have got stand, their
    /// answers are ignored (C-55).
    public func cancel() {
        settings.withLock { $0.isCancelled = true }
        client.cancelAll(of: number)
    }

    /// Whether ``cancel()`` was called.
    var isCancelled: Bool { settings.withLock { $0.isCancelled } }

    // MARK: Presenters

    /// Registers a presenter, so that it gets messages, until it is removed or released; the registry does not keep it alive (C-59).
    ///
    /// Accesses of other processes that begin after this has returned tell it too; so the first call may take as long as it takes to start
    /// the broker. An access that has begun already may go on without telling it (C-58). Add it inside a coordinated read of the item to miss nothing.
    ///
    /// - Parameter filePresenter: the presenter; adding it twice does nothing.
    public static func addFilePresenter(_ filePresenter: any FilePresenter) {
        CoordinationClient.shared.add(filePresenter)
    }

    /// Removes a presenter; it may be called from the presenter's `deinit`.
    ///
    /// Messages that wait for it are dropped, and what it has not answered counts as agreed to.
    ///
    /// - Parameter filePresenter: the presenter; removing one that is not registered does nothing.
    public static func removeFilePresenter(_ filePresenter: any FilePresenter) {
        CoordinationClient.shared.remove(filePresenter)
    }

    /// The registered presenters of this process, in the order in which they were added (C-57).
    public static var filePresenters: [any FilePresenter] { CoordinationClient.shared.presenters }

    /// Whether this process decides about its accesses by itself, for it shares the files with nobody.
    package static var isDelegated: Bool { CoordinationClient.shared.isDelegated }

    /// Which directories are file packages; set it before the first access, to the same in all processes.
    public static var filePackages: FilePackages {
        get { CoordinationClient.shared.filePackages }
        set { CoordinationClient.shared.filePackages = newValue }
    }
}

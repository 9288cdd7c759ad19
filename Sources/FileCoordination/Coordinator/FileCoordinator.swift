import Foundation
import Synchronization
import SystemPackage

/// Reads and writes files in coordination with other readers, writers and presenters of the files.
///
/// ```swift
/// let coordinator = FileCoordinator()
/// let text = try await coordinator.read(url) { url in try String(contentsOf: url, encoding: .utf8) }
/// try await coordinator.write(url) { url in try Data(text.utf8).write(to: url) }
/// ```
///
/// Accesses of one coordinator, of coordinators made for one presenter, and of coordinators with one purpose never wait
/// for each other: a coordinator protects against others, not against itself. Make one for each operation, as in Cocoa.
///
/// An access waits without limit; to limit it, give a deadline, or cancel the task or the coordinator. An access that
/// would wait for itself fails with ``FileCoordinationError/Code/deadlock``.
public final class FileCoordinator: Sendable {
    /// The limit of an access's wait.
    ///
    /// It limits the wait, not the accessor: after a grant in time, the accessor may run as long as it needs.
    public enum Deadline: Sendable, Hashable {
        /// This long after the call.
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
    /// The number of this coordinator within its client.
    let number: UInt64
    let presenter: PresenterID?
    private let settings: Mutex<Settings>

    /// Makes a coordinator.
    ///
    /// - Parameter filePresenter: the presenter on whose behalf it works. The presenter gets no messages about this
    ///   coordinator's accesses, and its other coordinators never wait for this one. It is not retained, and need not
    ///   be registered.
    public convenience init(filePresenter: (any FilePresenter)? = nil) {
        self.init(filePresenter: filePresenter, client: .shared)
    }

    package init(filePresenter: (any FilePresenter)? = nil, client: CoordinationClient) {
        self.client = client
        number = client.newCoordinator()
        presenter = filePresenter.map { client.id(of: $0) }
        settings = Mutex(Settings(purpose: presenter.map { .presenter($0) } ?? .coordinator(client.id, number)))
    }

    /// Makes a coordinator that works for the accessor of a purpose, and for its presenter.
    init(joining purpose: Purpose, client: CoordinationClient) {
        self.client = client
        number = client.newCoordinator()
        if case .presenter(let id) = purpose, id.client == client.id { presenter = id } else { presenter = nil }
        settings = Mutex(Settings(purpose: purpose))
    }

    // MARK: Purpose

    /// The purpose of the coordinator: accesses with one purpose never wait for each other, not even across processes.
    ///
    /// The default is unique. Set it at most once, to a non-empty string, on a coordinator without a presenter;
    /// anything else is a programming error.
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

    /// Returns the purpose for a new access.
    ///
    /// - Throws: `CocoaError.userCancelled` once the coordinator is cancelled.
    func purposeUnlessCancelled() throws -> Purpose {
        let (purpose, isCancelled) = settings.withLock { ($0.purpose, $0.isCancelled) }
        if isCancelled { throw CocoaError.coordinatorCancelled }
        return purpose
    }

    // MARK: Cancelling

    /// Gives up every waiting access of this coordinator and refuses later ones, with `CocoaError.userCancelled`.
    ///
    /// It returns at once, on any thread. A running accessor finishes normally. Messages to presenters are not
    /// recalled; their answers are ignored.
    public func cancel() {
        settings.withLock { $0.isCancelled = true }
        client.cancelAll(of: number)
    }

    /// Whether ``cancel()`` was called.
    var isCancelled: Bool { settings.withLock { $0.isCancelled } }

    // MARK: Presenters

    /// Registers a presenter, so that it gets messages until it is removed or released; the registry does not retain
    /// it.
    ///
    /// Accesses of other processes that begin after this call returns notify the presenter. The first call may
    /// therefore take as long as starting the broker takes. An access that has already begun may not notify it. To miss
    /// nothing, add the presenter inside a coordinated read of the item.
    ///
    /// - Parameter filePresenter: the presenter; adding it twice does nothing.
    public static func addFilePresenter(_ filePresenter: any FilePresenter) {
        CoordinationClient.shared.add(filePresenter)
    }

    /// Removes a presenter; it may be called from the presenter's `deinit`.
    ///
    /// Its pending messages are dropped, and its unanswered questions count as agreed.
    ///
    /// - Parameter filePresenter: the presenter; removing one that is not registered does nothing.
    public static func removeFilePresenter(_ filePresenter: any FilePresenter) {
        CoordinationClient.shared.remove(filePresenter)
    }

    /// The registered presenters of this process, in the order in which they were added.
    public static var filePresenters: [any FilePresenter] { CoordinationClient.shared.presenters }

    /// Whether this process decides its accesses itself, because it shares the files with no other process.
    package static var isDelegated: Bool { CoordinationClient.shared.isDelegated }

    /// The rule that tells which directories are file packages; set it before the first access, equally in all
    /// processes.
    public static var filePackages: FilePackages {
        get { CoordinationClient.shared.filePackages }
        set { CoordinationClient.shared.filePackages = newValue }
    }
}

internal import StoreExchange
internal import SystemPackage

/// A store that follows the account, as ``StoreKeeper`` leads it from file to file.
protocol FollowingStore: AnyObject, Sendable {
    /// The file in use, with the parts that belong to it.
    var current: StoreBase { get }
    /// The SQLite file in use.
    var file: FilePath { get }
    /// The notices for observers.
    var notices: StoreNotices { get }
    /// The handlers that are called before the store changes files.
    var handlers: TransitionHandlers { get }

    /// Uses another file from now on; it is called on the writer's queue of the old one.
    func use(_ new: StoreBase)

    /// Returns whether a file is still in use; on its writer's queue the answer stays true until the queue is left.
    func isCurrent(_ candidate: StoreBase) -> Bool
}

extension FileCoordinator {
    /// A new coordinator that works for the accessor that is running, and for its presenter, or for the presenter whose method runs.
    ///
    /// It never waits for that accessor, nor asks that presenter. Elsewhere it is a coordinator with a purpose of its own. A function that
    /// coordinates uses it as a default, so that callers can call the function inside and outside accessors.
    public static var current: FileCoordinator {
        guard let purpose = CoordinationContext.current?.innermostPurpose else { return FileCoordinator() }
        return FileCoordinator(joining: purpose, client: .shared)
    }

    /// Returns a closure that belongs to the accessor or presenter's method that is running now, on whatever thread it runs.
    ///
    /// The closure's accesses count as nested in the accessor, or as part of the presenter's answer, so they go before the claims that
    /// wait for it. Tasks inherit this by themselves; a block on a dispatch queue or an operation queue does not:
    ///
    /// ```swift
    /// try coordinator.coordinate(writingItemAt: url) { url in
    ///     queue.sync(execute: FileCoordinator.carryingContext { save(url) })
    /// }
    /// ```
    ///
    /// The accessor must wait for the closure: the closure's accesses are nested in a claim that ends with the accessor.
    ///
    /// - Parameter work: runs when the closure is called.
    /// - Returns: the closure, with the result and the error of the work.
    public static func carryingContext<Value>(_ work: @escaping () throws -> Value) -> () throws -> Value {
        let (context, message) = (CoordinationContext.current, FilePresenterMessage.current)
        return {
            try CoordinationContext.$current.withValue(context) { try FilePresenterMessage.$current.withValue(message, operation: work) }
        }
    }
}

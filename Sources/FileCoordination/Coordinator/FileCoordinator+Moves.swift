public import Foundation
import SystemPackage

extension FileCoordinator {
    /// Announces a move.
    ///
    /// This does nothing; Cocoa has it for sandboxed apps, and ported code may call it.
    ///
    /// - Parameters:
    ///   - oldURL: the item's current URL.
    ///   - newURL: its future URL.
    public func item(at oldURL: URL, willMoveTo newURL: URL) {}

    /// Reports that the accessor has moved an item, so that waiting accesses follow it and presenters hear of a move.
    ///
    /// Call it inside the accessor of a write access that covers the old place, after the move; any other call is a
    /// programming error. Equal URLs have no effect. Without the call, others hear only that both places changed.
    ///
    /// - Parameters:
    ///   - oldURL: the item's previous URL.
    ///   - newURL: its current URL.
    public func item(at oldURL: URL, didMoveTo newURL: URL) {
        guard let from = try? Location(oldURL).path, let to = try? Location(newURL).path else {
            preconditionFailure("A move was reported from \(oldURL) to \(newURL), which are not both file URLs with a path")
        }
        guard let claim = client.claim(of: purpose, covering: from) else {
            preconditionFailure("A move from \(from) to \(to) was reported outside the accessor of a coordinated write of \(from)")
        }
        guard from != to else { return }
        let packages = client.filePackages
        var depths = packages.depths(above: to)
        if packages.contains(to), to.isDirectoryWithoutFollowing { depths.append(to.components.count) }
        client.submit(.moved(claim, Move(from: from, to: to, packageDepths: depths)))
        client.writes.tell { [from, to] }
    }
}

package import SystemPackage

/// The kind of access to an item.
package enum Access: Hashable, Sendable {
    case read(FileCoordinator.ReadingOptions)
    case write(FileCoordinator.WritingOptions)

    /// Whether the access writes the item.
    package var writes: Bool {
        switch self {
        case .read: false
        case .write: true
        }
    }

    /// Whether the claim also covers everything below the item.
    ///
    /// A plain file has nothing below it, so `forMoving` makes no difference there.
    package var coversDescendants: Bool {
        switch self {
        case .read: false
        case .write(let options): !options.isDisjoint(with: .structural)
        }
    }

    /// Whether the claim is on the name rather than on the item that currently has it.
    package var keepsName: Bool {
        switch self {
        case .read: false
        case .write(let options): options.contains(.forReplacing)
        }
    }
}

/// One of the items of a claim.
package struct ClaimItem: Hashable, Sendable {
    /// The item's path: absolute, without symbolic links except in the last component.
    package var path: FilePath
    /// The directories above the item that are file packages, as numbers of path components, outermost first.
    package var packageDepths: [Int]
    /// The kind of access.
    package let access: Access

    package init(_ path: FilePath, _ access: Access, packageDepths: [Int] = []) {
        self.path = path
        self.access = access
        self.packageDepths = packageDepths
    }

    /// The number of path components of the locked path: the outermost package around the item, or all components for
    /// the item itself.
    package var lockDepth: Int { packageDepths.first ?? .max }

    /// Returns the item after a move.
    ///
    /// - Returns: nil when the move does not concern the item.
    package func moved(_ move: Move) -> ClaimItem? {
        guard let path = path.moved(from: move.from, to: move.to) else { return nil }
        let (old, new) = (move.from.components.count, move.to.components.count)
        let depth = path.components.count
        var item = self
        item.path = path
        item.packageDepths =
            move.packageDepths.filter { $0 < depth }
            + packageDepths.filter { $0 > old }.map { $0 - old + new }
        return item
    }
}

/// An item's change of place.
package struct Move: Hashable, Sendable {
    package let from: FilePath
    package let to: FilePath
    /// The directories above the new place, and the item itself, that are file packages; see
    /// ``ClaimItem/packageDepths``.
    package let packageDepths: [Int]

    package init(from: FilePath, to: FilePath, packageDepths: [Int] = []) {
        self.from = from
        self.to = to
        self.packageDepths = packageDepths
    }
}

extension FilePath {
    /// Returns the path after the item at `from` moved to `to`; nil if the path is neither that item nor below it.
    package func moved(from: FilePath, to: FilePath) -> FilePath? {
        var rest = self
        guard rest.removePrefix(from) else { return nil }
        return to.appending(rest.components)
    }

    /// Returns whether this path equals the other path or lies below it.
    package func isAtOrBelow(_ other: FilePath) -> Bool { starts(with: other) }
}

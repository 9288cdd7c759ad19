package import SystemPackage

/// What a claim is to do with an item.
package enum Access: Hashable, Sendable {
    case read(FileCoordinator.ReadingOptions)
    case write(FileCoordinator.WritingOptions)

    /// Whether the item is to be written.
    package var writes: Bool {
        switch self {
        case .read: false
        case .write: true
        }
    }

    /// Whether the claim also covers whatever lies below the item (C-06).
    ///
    /// Nothing lies below a plain file, so `forMoving` makes no difference there (C-07).
    package var coversDescendants: Bool {
        switch self {
        case .read: false
        case .write(let options): !options.isDisjoint(with: .structural)
        }
    }

    /// Whether the claim is on the name rather than on the item that now bears it (C-24).
    package var keepsName: Bool {
        switch self {
        case .read: false
        case .write(let options): options.contains(.forReplacing)
        }
    }
}

/// One of the items of a claim.
package struct ClaimItem: Hashable, Sendable {
    /// Where the item is: absolute, and free of symbolic links but for its last component.
    package var path: FilePath
    /// Which of the directories above the item are file packages, as numbers of path components, outermost first.
    package var packageDepths: [Int]
    /// What is to be done with it.
    package let access: Access

    package init(_ path: FilePath, _ access: Access, packageDepths: [Int] = []) {
        self.path = path
        self.access = access
        self.packageDepths = packageDepths
    }

    /// How many path components lead to what is locked: the outermost package around the item, or all, for the item itself (C-03).
    package var lockDepth: Int { packageDepths.first ?? .max }

    /// Where the item is after a move.
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
    /// Which of the directories above the new place, and the item itself, are file packages; see ``ClaimItem/packageDepths``.
    package let packageDepths: [Int]

    package init(from: FilePath, to: FilePath, packageDepths: [Int] = []) {
        self.from = from
        self.to = to
        self.packageDepths = packageDepths
    }
}

extension FilePath {
    /// The path after the item at `from` went to `to`; nil when it is neither that item nor below it.
    package func moved(from: FilePath, to: FilePath) -> FilePath? {
        var rest = self
        guard rest.removePrefix(from) else { return nil }
        return to.appending(rest.components)
    }

    /// Whether this is the other path or lies below it.
    package func isAtOrBelow(_ other: FilePath) -> Bool { starts(with: other) }
}

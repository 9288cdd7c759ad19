/// Names that other programs leave in a tree that they move: never ours, never content.
package enum ForeignNames {
    /// Whether a name is that of a file that Syncthing has not written to its end.
    package static func isDraft(_ name: String) -> Bool {
        name.hasSuffix(".tmp") && (name.hasPrefix(".syncthing.") || name.hasPrefix("~syncthing~"))
    }

    /// The names that Syncthing keeps for itself at the top of a folder, and carries nowhere.
    private static let markers = [".stfolder", ".stversions", ".stignore"]

    /// Whether what has a name never leaves the device: it is excluded, or a synchroniser keeps it for itself.
    package static func staysHere(_ name: String) -> Bool {
        name.hasSuffix(ItemPath.excludedSuffix) || isDraft(name) || markers.contains(name)
    }

    /// Whether a name belongs to a synchroniser or a network file system (DESIGN §4, rule 8).
    ///
    /// Any name with `.sync-conflict-` in it, for none of ours has that; which item a copy is of, ``FileCoordination/ConflictName`` tells.
    package static func matches(_ name: String) -> Bool {
        if markers.contains(name) || isDraft(name) { return true }
        if name.hasPrefix(".nfs") || name.hasPrefix(".unison.") || name.hasPrefix(".fuse_hidden") { return true }
        if name.contains(".sync-conflict-") { return true }
        // rsync(1): `.<name>.<six characters>`, and `.~tmp~` with --delay-updates.
        if name == ".~tmp~" || name == ".rsync-partial" { return true }
        return name.hasPrefix(".") && name.dropFirst().contains(".") && name.split(separator: ".").last?.count == 6
    }
}

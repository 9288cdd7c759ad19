/// Names that other programs use in a tree that they synchronise; such a file is never content.
package enum ForeignNames {
    /// Returns whether a name belongs to a file that Syncthing is still writing.
    package static func isDraft(_ name: String) -> Bool {
        name.hasSuffix(".tmp") && (name.hasPrefix(".syncthing.") || name.hasPrefix("~syncthing~"))
    }

    /// The names that Syncthing uses at the top of a folder and never transfers.
    private static let markers = [".stfolder", ".stversions", ".stignore"]

    /// Returns whether an entry of this name never leaves the device: it is excluded, or belongs to a synchroniser.
    package static func staysHere(_ name: String) -> Bool {
        name.hasSuffix(ItemPath.excludedSuffix) || isDraft(name) || markers.contains(name)
    }

    /// Returns whether a name belongs to a synchroniser or a network file system; such a file is never content.
    ///
    /// This includes any name with `.sync-conflict-` in it, because no name of this package contains that;
    /// ``FileCoordination/ConflictName`` finds the original of a copy.
    package static func matches(_ name: String) -> Bool {
        if markers.contains(name) || isDraft(name) { return true }
        if name.hasPrefix(".nfs") || name.hasPrefix(".unison.") || name.hasPrefix(".fuse_hidden") { return true }
        if name.contains(".sync-conflict-") { return true }
        // rsync(1): `.<name>.<six characters>`, and `.~tmp~` with --delay-updates.
        if name == ".~tmp~" || name == ".rsync-partial" { return true }
        return name.hasPrefix(".") && name.dropFirst().contains(".") && name.split(separator: ".").last?.count == 6
    }
}

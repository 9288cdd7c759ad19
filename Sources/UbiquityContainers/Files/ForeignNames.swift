/// Names that other programs leave in a tree that they move: never ours, never content.
package enum ForeignNames {
    /// Whether a name belongs to a synchroniser or a network file system (DESIGN §4, rule 8).
    package static func matches(_ name: String) -> Bool {
        if [".stfolder", ".stversions", ".stignore"].contains(name) { return true }
        if name.hasSuffix(".tmp"), name.hasPrefix(".syncthing.") || name.hasPrefix("~syncthing~") { return true }
        if name.hasPrefix(".nfs") || name.hasPrefix(".unison.") || name.hasPrefix(".fuse_hidden") { return true }
        if name.contains(".sync-conflict-") { return true }
        // rsync(1): `.<name>.<six characters>`, and `.~tmp~` with --delay-updates.
        if name == ".~tmp~" || name == ".rsync-partial" { return true }
        return name.hasPrefix(".") && name.dropFirst().contains(".") && name.split(separator: ".").last?.count == 6
    }
}

<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
  <context>
    <name>palimpsest</name>
    <message>
      <source>&amp;Compare</source>
      <translation>&amp;Vergleich</translation>
    </message>
    <message>
      <source>&amp;Document</source>
      <translation>Do&amp;kument</translation>
    </message>
    <message>
      <source>&amp;Edit</source>
      <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
      <source>&amp;File</source>
      <translation>&amp;Datei</translation>
    </message>
    <message>
      <source>&amp;Help</source>
      <translation>&amp;Hilfe</translation>
    </message>
    <message>
      <source>&amp;Repair</source>
      <translation>&amp;Reparatur</translation>
    </message>
    <message>
      <source>&amp;View</source>
      <translation>&amp;Ansicht</translation>
    </message>
    <message>
      <source>Apr</source>
      <translation>Apr.</translation>
    </message>
    <message>
      <source>As the system</source>
      <translation>Wie im System</translation>
    </message>
    <message>
      <source>As the system ({zone})</source>
      <translation>Wie im System ({zone})</translation>
    </message>
    <message>
      <source>Aug</source>
      <translation>Aug.</translation>
    </message>
    <message>
      <source>Close</source>
      <translation>Schließen</translation>
    </message>
    <message>
      <source>Colours</source>
      <translation>Farben</translation>
    </message>
    <message>
      <source>Contrast</source>
      <translation>Kontrast</translation>
    </message>
    <message>
      <source>Copy {what}</source>
      <translation>{what} kopieren</translation>
    </message>
    <message>
      <source>Dark</source>
      <translation>Dunkel</translation>
    </message>
    <message>
      <source>Dates are stored in UTC and shown in this zone.</source>
      <translation>Zeiten sind in UTC gespeichert und werden in dieser Zone angezeigt.</translation>
    </message>
    <message>
      <source>Dec</source>
      <translation>Dez.</translation>
    </message>
    <message>
      <source>Documents a page</source>
      <translation>Dokumente je Seite</translation>
    </message>
    <message>
      <source>Feb</source>
      <translation>Feb.</translation>
    </message>
    <message>
      <source>High</source>
      <translation>Hoch</translation>
    </message>
    <message>
      <source>Jan</source>
      <translation>Jan.</translation>
    </message>
    <message>
      <source>Jul</source>
      <translation>Juli</translation>
    </message>
    <message>
      <source>Jun</source>
      <translation>Juni</translation>
    </message>
    <message>
      <source>Language</source>
      <translation>Sprache</translation>
    </message>
    <message>
      <source>Light</source>
      <translation>Hell</translation>
    </message>
    <message>
      <source>Mar</source>
      <translation>März</translation>
    </message>
    <message>
      <source>May</source>
      <translation>Mai</translation>
    </message>
    <message>
      <source>Motion</source>
      <translation>Bewegung</translation>
    </message>
    <message>
      <source>Normal</source>
      <translation>Normal</translation>
    </message>
    <message>
      <source>Nov</source>
      <translation>Nov.</translation>
    </message>
    <message>
      <source>Oct</source>
      <translation>Okt.</translation>
    </message>
    <message>
      <source>Reduce motion: only progress moves</source>
      <translation>Weniger Bewegung: nur Fortschritt bewegt sich</translation>
    </message>
    <message>
      <source>Sep</source>
      <translation>Sept.</translation>
    </message>
    <message>
      <source>Settings</source>
      <translation>Einstellungen</translation>
    </message>
    <message>
      <source>Taken at the next start.</source>
      <translation>Gilt ab dem nächsten Start.</translation>
    </message>
    <message>
      <source>Time zone</source>
      <translation>Zeitzone</translation>
    </message>
    <message numerus="yes">
      <source>archived copy</source>
      <comment>count</comment>
      <translation>
        <numerusform>archivierte Kopie</numerusform>
        <numerusform>archivierte Kopien</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>change</source>
      <comment>count</comment>
      <translation>
        <numerusform>Änderung</numerusform>
        <numerusform>Änderungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>change is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Änderung ist</numerusform>
        <numerusform>Änderungen sind</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>changed field</source>
      <comment>count</comment>
      <translation>
        <numerusform>geändertes Feld</numerusform>
        <numerusform>geänderte Felder</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>choice</source>
      <comment>count</comment>
      <translation>
        <numerusform>Entscheidung</numerusform>
        <numerusform>Entscheidungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>class</source>
      <comment>count</comment>
      <translation>
        <numerusform>Klasse</numerusform>
        <numerusform>Klassen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>collection</source>
      <comment>count</comment>
      <translation>
        <numerusform>Sammlung</numerusform>
        <numerusform>Sammlungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>counter</source>
      <comment>count</comment>
      <translation>
        <numerusform>Zähler</numerusform>
        <numerusform>Zähler</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>current flag</source>
      <comment>count</comment>
      <translation>
        <numerusform>Kennung</numerusform>
        <numerusform>Kennungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>current version</source>
      <comment>count</comment>
      <translation>
        <numerusform>aktuelle Version</numerusform>
        <numerusform>aktuelle Versionen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>difference</source>
      <comment>count</comment>
      <translation>
        <numerusform>Unterschied</numerusform>
        <numerusform>Unterschiede</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument</numerusform>
        <numerusform>Dokumente</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document has</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument hat</numerusform>
        <numerusform>Dokumente haben</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument ist</numerusform>
        <numerusform>Dokumente sind</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document stays</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument bleibt</numerusform>
        <numerusform>Dokumente bleiben</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document was</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument wurde</numerusform>
        <numerusform>Dokumente wurden</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>duplicate version</source>
      <comment>count</comment>
      <translation>
        <numerusform>doppelte Version</numerusform>
        <numerusform>doppelte Versionen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>edit is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Bearbeitung ist</numerusform>
        <numerusform>Bearbeitungen sind</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>element</source>
      <comment>count</comment>
      <translation>
        <numerusform>Element</numerusform>
        <numerusform>Elemente</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>field</source>
      <comment>count</comment>
      <translation>
        <numerusform>Feld</numerusform>
        <numerusform>Felder</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>finding</source>
      <comment>count</comment>
      <translation>
        <numerusform>Befund</numerusform>
        <numerusform>Befunde</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>finding is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Befund ist</numerusform>
        <numerusform>Befunde sind</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>further field</source>
      <comment>count</comment>
      <translation>
        <numerusform>weiteres Feld</numerusform>
        <numerusform>weitere Felder</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>hash</source>
      <comment>count</comment>
      <translation>
        <numerusform>Hash</numerusform>
        <numerusform>Hashes</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>history</source>
      <comment>count</comment>
      <translation>
        <numerusform>Verlauf</numerusform>
        <numerusform>Verläufe</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>hit</source>
      <comment>count</comment>
      <translation>
        <numerusform>Treffer</numerusform>
        <numerusform>Treffer</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>list</source>
      <comment>count</comment>
      <translation>
        <numerusform>Liste</numerusform>
        <numerusform>Listen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>missing version is</source>
      <comment>count</comment>
      <translation>
        <numerusform>fehlende Version ist</numerusform>
        <numerusform>fehlende Versionen sind</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>more change</source>
      <comment>count</comment>
      <translation>
        <numerusform>weitere Änderung</numerusform>
        <numerusform>weitere Änderungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>more field</source>
      <comment>count</comment>
      <translation>
        <numerusform>weiteres Feld</numerusform>
        <numerusform>weitere Felder</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>path</source>
      <comment>count</comment>
      <translation>
        <numerusform>Pfad</numerusform>
        <numerusform>Pfade</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>phantom version</source>
      <comment>count</comment>
      <translation>
        <numerusform>Phantomversion</numerusform>
        <numerusform>Phantomversionen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>prev array</source>
      <comment>count</comment>
      <translation>
        <numerusform>prev-Array</numerusform>
        <numerusform>prev-Arrays</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>promise</source>
      <comment>count</comment>
      <translation>
        <numerusform>Zusage</numerusform>
        <numerusform>Zusagen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>repair</source>
      <comment>count</comment>
      <translation>
        <numerusform>Reparatur</numerusform>
        <numerusform>Reparaturen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>row</source>
      <comment>count</comment>
      <translation>
        <numerusform>Zeile</numerusform>
        <numerusform>Zeilen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>scan</source>
      <comment>count</comment>
      <translation>
        <numerusform>Prüflauf</numerusform>
        <numerusform>Prüfläufe</numerusform>
      </translation>
    </message>
    <message>
      <source>today, {time}</source>
      <translation>heute, {time}</translation>
    </message>
    <message numerus="yes">
      <source>token</source>
      <comment>count</comment>
      <translation>
        <numerusform>Token</numerusform>
        <numerusform>Token</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>turn</source>
      <comment>count</comment>
      <translation>
        <numerusform>Umschlag</numerusform>
        <numerusform>Umschläge</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>unchanged field</source>
      <comment>count</comment>
      <translation>
        <numerusform>unverändertes Feld</numerusform>
        <numerusform>unveränderte Felder</numerusform>
      </translation>
    </message>
    <message>
      <source>unknown</source>
      <translation>unbekannt</translation>
    </message>
    <message numerus="yes">
      <source>version</source>
      <comment>count</comment>
      <translation>
        <numerusform>Version</numerusform>
        <numerusform>Versionen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>write</source>
      <comment>count</comment>
      <translation>
        <numerusform>Schreibvorgang</numerusform>
        <numerusform>Schreibvorgänge</numerusform>
      </translation>
    </message>
    <message>
      <source>yesterday</source>
      <translation>gestern</translation>
    </message>
    <message>
      <source>{days} days</source>
      <translation>{days} Tage</translation>
    </message>
    <message>
      <source>{days} days ago</source>
      <translation>vor {days} Tagen</translation>
    </message>
    <message>
      <source>{day} {month} {year}</source>
      <translation>{day}. {month} {year}</translation>
    </message>
    <message>
      <source>{day} {month} {year} {time}</source>
      <translation>{day}. {month} {year}, {time}</translation>
    </message>
    <message>
      <source>{hours} h</source>
      <translation>{hours} h</translation>
    </message>
    <message>
      <source>{minutes} min</source>
      <translation>{minutes} min</translation>
    </message>
    <message>
      <source>{seconds} s</source>
      <translation>{seconds} s</translation>
    </message>
  </context>
  <context>
    <name>model</name>
    <message>
      <source> $set adds new fields in an order of its own.</source>
      <translation> $set fügt neue Felder in eigener Reihenfolge an.</translation>
    </message>
    <message>
      <source> Merge the undo with it, or restore the earlier version or some of its fields.</source>
      <translation> Führen Sie die Rücknahme damit zusammen oder stellen Sie die frühere Version oder einige ihrer Felder wieder her.</translation>
    </message>
    <message>
      <source> and {0} is unchanged</source>
      <translation> und {0} unverändert</translation>
    </message>
    <message>
      <source> {0} {1} then sorted in memory.</source>
      <translation> {0}: danach im Speicher sortiert.</translation>
    </message>
    <message>
      <source>, the archive ends at {0}</source>
      <translation>, das Archiv endet bei {0}</translation>
    </message>
    <message>
      <source>, written by {0}</source>
      <translation>, geschrieben von {0}</translation>
    </message>
    <message>
      <source>A cleanup that does not look at both counts it twice.</source>
      <translation>Ein Aufräumen, das nicht beide ansieht, zählt es doppelt.</translation>
    </message>
    <message>
      <source>A delta is missing, so the states after it cannot be rebuilt for certain.</source>
      <translation>Ein Delta fehlt, die Stände danach lassen sich nicht sicher nachbilden.</translation>
    </message>
    <message>
      <source>A lost answer is settled by the write token; where a collection may have none, the outcome is unknown.</source>
      <translation>Eine verlorene Antwort klärt das Schreib-Token; wo eine Sammlung keines haben darf, ist der Ausgang unbekannt.</translation>
    </message>
    <message>
      <source>A number that was handed out is not taken back: somebody may use it already.</source>
      <translation>Eine ausgegebene Nummer wird nicht zurückgenommen: Vielleicht benutzt sie schon jemand.</translation>
    </message>
    <message>
      <source>A person said to leave it as it is</source>
      <translation>Jemand sagte, es so zu lassen</translation>
    </message>
    <message>
      <source>A repair is undone as a whole, or not at all; edit the document instead.</source>
      <translation>Eine Reparatur wird ganz oder gar nicht rückgängig gemacht; bearbeiten Sie stattdessen das Dokument.</translation>
    </message>
    <message>
      <source>A token stands in both lists: it was counted and not taken out.</source>
      <translation>Ein Token steht in beiden Listen: Es wurde gezählt und nicht herausgenommen.</translation>
    </message>
    <message>
      <source>A version is stored as text or as a fraction where whole numbers are expected.</source>
      <translation>Eine Version ist als Text oder Bruch gespeichert, wo ganze Zahlen erwartet werden.</translation>
    </message>
    <message>
      <source>A view, which can only be read.</source>
      <translation>Eine View, die sich nur lesen lässt.</translation>
    </message>
    <message>
      <source>A write that was sent twice under one number took effect once.</source>
      <translation>Ein zweimal unter einer Nummer gesendeter Schreibvorgang wirkte einmal.</translation>
    </message>
    <message>
      <source>A write that was sent twice under one number took effect twice, and drivers resend on this server.</source>
      <translation>Ein zweimal unter einer Nummer gesendeter Schreibvorgang wirkte zweimal, und Treiber senden auf diesem Server erneut.</translation>
    </message>
    <message>
      <source>A writer noted a token and died before it raised the counter.</source>
      <translation>Ein Schreiber vermerkte ein Token und starb, bevor er den Zähler erhöhte.</translation>
    </message>
    <message>
      <source>A writer that filters by the hash alone changes the wrong one.</source>
      <translation>Ein Schreiber, der nur nach dem Hash filtert, ändert das falsche.</translation>
    </message>
    <message>
      <source>Add retryWrites=false to every address of this server.</source>
      <translation>Ergänzen Sie jede Adresse dieses Servers um retryWrites=false.</translation>
    </message>
    <message>
      <source>Address</source>
      <translation>Adresse</translation>
    </message>
    <message>
      <source>All its versions go with it</source>
      <translation>Alle seine Versionen gehen mit</translation>
    </message>
    <message>
      <source>All its versions stay; one that says that it is deleted follows them, and restoring an earlier one brings it back.</source>
      <translation>Alle seine Versionen bleiben; eine, die es für gelöscht erklärt, folgt ihnen, und das Wiederherstellen einer früheren bringt es zurück.</translation>
    </message>
    <message>
      <source>An application writes these documents together with a snapshot of each, and an edit from here would leave the snapshots behind; edit with that application, or state another layout in a profile.</source>
      <translation>Eine Anwendung schreibt diese Dokumente mit je einem Abbild, und eine Bearbeitung von hier ließe die Abbilder zurück; bearbeiten Sie mit jener Anwendung oder geben Sie in einem Profil ein anderes Layout an.</translation>
    </message>
    <message>
      <source>An archive can only be fed by asking again and again, which misses what changes in between.</source>
      <translation>Ein Archiv lässt sich nur durch ständiges Nachfragen füttern, und das verpasst, was sich dazwischen ändert.</translation>
    </message>
    <message>
      <source>An index is not dropped from here; drop it with your own tools.</source>
      <translation>Ein Index wird von hier nicht gelöscht; tun Sie das mit eigenen Werkzeugen.</translation>
    </message>
    <message>
      <source>An insert was told of on a change stream.</source>
      <translation>Ein Einfügen wurde über einen Change Stream gemeldet.</translation>
    </message>
    <message>
      <source>An inserted document comes back with its fields in another order.{0}</source>
      <translation>Ein eingefügtes Dokument kommt mit anderer Feldreihenfolge zurück.{0}</translation>
    </message>
    <message>
      <source>An upsert raced with another, or did not match, so a key has more than one document.</source>
      <translation>Ein Upsert lief mit einem anderen um die Wette oder traf nicht, so dass ein Schlüssel mehrere Dokumente hat.</translation>
    </message>
    <message>
      <source>Answer</source>
      <translation>Antwort</translation>
    </message>
    <message>
      <source>Answers from the index {0} alone, and {1}.</source>
      <translation>Antwortet allein aus dem Index {0} und {1}.</translation>
    </message>
    <message>
      <source>Archive</source>
      <translation>Archivieren</translation>
    </message>
    <message>
      <source>Archive behind its source</source>
      <translation>Archiv hinter seiner Quelle</translation>
    </message>
    <message>
      <source>Archive lacks versions</source>
      <translation>Dem Archiv fehlen Versionen</translation>
    </message>
    <message>
      <source>Archive without document</source>
      <translation>Archiv ohne Dokument</translation>
    </message>
    <message>
      <source>Archived copy differs</source>
      <translation>Archivierte Kopie weicht ab</translation>
    </message>
    <message>
      <source>Atomic swaps</source>
      <translation>Atomarer Tausch</translation>
    </message>
    <message>
      <source>Blocks edits</source>
      <translation>Blockiert Bearbeitungen</translation>
    </message>
    <message>
      <source>Broken prev chains</source>
      <translation>Gebrochene prev-Ketten</translation>
    </message>
    <message>
      <source>Change streams</source>
      <translation>Change Streams</translation>
    </message>
    <message>
      <source>Changed silently: {0}.</source>
      <translation>Still geändert: {0}.</translation>
    </message>
    <message>
      <source>Clock</source>
      <translation>Uhr</translation>
    </message>
    <message>
      <source>Code that takes the last element for the version before gets another one.</source>
      <translation>Code, der das letzte Element für die Version davor hält, erhält eine andere.</translation>
    </message>
    <message>
      <source>Compare both, and save the one that is right as a new version.</source>
      <translation>Vergleichen Sie beide und speichern Sie den richtigen als neue Version.</translation>
    </message>
    <message>
      <source>Compare what was stored, not what was sent, before trusting a hash.</source>
      <translation>Vergleichen Sie das Gespeicherte, nicht das Gesendete, bevor Sie einem Hash trauen.</translation>
    </message>
    <message>
      <source>Content in doubt</source>
      <translation>Inhalt zweifelhaft</translation>
    </message>
    <message>
      <source>Convert</source>
      <translation>Umwandeln</translation>
    </message>
    <message>
      <source>Counters that are no numbers</source>
      <translation>Zähler, die keine Zahlen sind</translation>
    </message>
    <message>
      <source>Counters that fell behind</source>
      <translation>Zurückgefallene Zähler</translation>
    </message>
    <message>
      <source>Counts and numbers</source>
      <translation>Zähler und Nummern</translation>
    </message>
    <message>
      <source>Counts are never added up from here; decide which document stands and take over what the other counted.</source>
      <translation>Zählungen werden von hier nie addiert; entscheiden Sie, welches Dokument gilt, und übernehmen Sie, was das andere zählte.</translation>
    </message>
    <message>
      <source>Created</source>
      <translation>Angelegt</translation>
    </message>
    <message>
      <source>Created as {0}.</source>
      <translation>Angelegt als {0}.</translation>
    </message>
    <message>
      <source>Created.</source>
      <translation>Angelegt.</translation>
    </message>
    <message>
      <source>Deleted</source>
      <translation>Gelöscht</translation>
    </message>
    <message>
      <source>Deltas without a base</source>
      <translation>Deltas ohne Basis</translation>
    </message>
    <message>
      <source>Do not store these here: what is read is not what was written.</source>
      <translation>Speichern Sie diese hier nicht: Gelesen wird nicht, was geschrieben wurde.</translation>
    </message>
    <message>
      <source>Documents near 16 MB</source>
      <translation>Dokumente nahe 16 MB</translation>
    </message>
    <message>
      <source>Drivers stop at it or change it silently; here it is shown and never written.</source>
      <translation>Treiber bleiben daran hängen oder ändern es still; hier wird es gezeigt und nie geschrieben.</translation>
    </message>
    <message>
      <source>Duplicate versions</source>
      <translation>Doppelte Versionen</translation>
    </message>
    <message>
      <source>Each holds part of the count.</source>
      <translation>Jedes enthält einen Teil der Zählung.</translation>
    </message>
    <message>
      <source>Editing on {0} is refused, as its server is unsafe: {1} To edit all the same, allow it for this connection (palimpsest check SOURCE --allow-edits).</source>
      <translation>Bearbeiten auf {0} wird abgelehnt, da der Server unsicher ist: {1} Um trotzdem zu bearbeiten, erlauben Sie es für diese Verbindung (palimpsest check SOURCE --allow-edits).</translation>
    </message>
    <message>
      <source>Edits are guarded by version and token; where a guard on content would be too loose, it is refused.</source>
      <translation>Bearbeitungen sind durch Version und Token abgesichert; wo eine Absicherung über den Inhalt zu locker wäre, wird abgelehnt.</translation>
    </message>
    <message>
      <source>Edits can be lost here without anybody being told: do not let several writers work on this server.</source>
      <translation>Bearbeitungen können hier verloren gehen, ohne dass es jemand erfährt: Lassen Sie nicht mehrere Schreiber auf diesem Server arbeiten.</translation>
    </message>
    <message>
      <source>Encrypted.</source>
      <translation>Verschlüsselt.</translation>
    </message>
    <message>
      <source>Entries listed twice</source>
      <translation>Doppelt gelistete Einträge</translation>
    </message>
    <message>
      <source>Equal hashes</source>
      <translation>Gleiche Hashes</translation>
    </message>
    <message>
      <source>Every later edit of the document is refused.</source>
      <translation>Jede spätere Bearbeitung des Dokuments wird abgelehnt.</translation>
    </message>
    <message>
      <source>Fields keep their order</source>
      <translation>Felder behalten ihre Reihenfolge</translation>
    </message>
    <message>
      <source>Filters can tell 1.0 from 1.00, 0.0 from -0.0, and one order from another.</source>
      <translation>Filter unterscheiden 1.0 von 1.00, 0.0 von -0.0 und eine Reihenfolge von der anderen.</translation>
    </message>
    <message>
      <source>Filters cannot tell apart: {0}.</source>
      <translation>Filter unterscheiden nicht: {0}.</translation>
    </message>
    <message>
      <source>Finish</source>
      <translation>Abschließen</translation>
    </message>
    <message>
      <source>First a copy goes to the quarantine, then {0} is deleted if every byte of it is as it was seen. The document is read again behind it; has it moved on, the row is put back.</source>
      <translation>Zuerst geht eine Kopie in die Quarantäne, dann wird {0} gelöscht, wenn jedes Byte noch ist wie gesehen. Danach wird das Dokument erneut gelesen; ist es weitergerückt, wird die Zeile zurückgelegt.</translation>
    </message>
    <message>
      <source>First the new version is inserted with {0}; the unique index on {1} and {2} lets one writer have its number. Then {3} and all below it lose {4}.</source>
      <translation>Zuerst wird die neue Version mit {0} eingefügt; der eindeutige Index auf {1} und {2} gibt einem Schreiber ihre Nummer. Dann verlieren {3} und alle darunter {0}.</translation>
    </message>
    <message>
      <source>First {0} is copied to {1}. The swap then applies only if {2} is still {3}{4}.</source>
      <translation>Zuerst wird {0} nach {1} kopiert. Der Tausch gilt dann nur, wenn {2} noch {3} ist{4}.</translation>
    </message>
    <message>
      <source>Gaps in the versions</source>
      <translation>Lücken in den Versionen</translation>
    </message>
    <message>
      <source>Goes straight to the document by its _id, and {0}.</source>
      <translation>Geht über die _id direkt zum Dokument und {0}.</translation>
    </message>
    <message>
      <source>Hashes of stored documents mean nothing here; do not use the layout hashed.</source>
      <translation>Hashes gespeicherter Dokumente bedeuten hier nichts; verwenden Sie das Layout hashed nicht.</translation>
    </message>
    <message>
      <source>History incomplete</source>
      <translation>Verlauf unvollständig</translation>
    </message>
    <message>
      <source>Holds {0} of {1}{2}.</source>
      <translation>Enthält {0} von {1}{2}.</translation>
    </message>
    <message>
      <source>Inserted and replaced documents keep the order of their fields.{0}</source>
      <translation>Eingefügte und ersetzte Dokumente behalten die Reihenfolge ihrer Felder.{0}</translation>
    </message>
    <message>
      <source>It can be used as it is written.</source>
      <translation>Sie ist so verwendbar.</translation>
    </message>
    <message>
      <source>It cannot be raised, and totals that read it are wrong.</source>
      <translation>Er lässt sich nicht erhöhen, und Summen daraus sind falsch.</translation>
    </message>
    <message>
      <source>It changed since it was read; nothing was written.</source>
      <translation>Es hat sich seit dem Lesen geändert; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>It could not be measured: {0}</source>
      <translation>Es konnte nicht gemessen werden: {0}</translation>
    </message>
    <message>
      <source>It is as it was before the repair.</source>
      <translation>Es ist wieder wie vor der Reparatur.</translation>
    </message>
    <message>
      <source>It is empty, so nothing can be told from it.</source>
      <translation>Sie ist leer, also lässt sich nichts daraus schließen.</translation>
    </message>
    <message>
      <source>It is not known whether it was written.</source>
      <translation>Es ist nicht bekannt, ob es geschrieben wurde.</translation>
    </message>
    <message>
      <source>It is not known whether the delete was applied.</source>
      <translation>Es ist nicht bekannt, ob das Löschen ankam.</translation>
    </message>
    <message>
      <source>It is not known whether the edit was applied.</source>
      <translation>Es ist nicht bekannt, ob die Bearbeitung ankam.</translation>
    </message>
    <message>
      <source>It is not known whether this write arrived; check that first.</source>
      <translation>Es ist nicht bekannt, ob dieser Schreibvorgang ankam; prüfen Sie das zuerst.</translation>
    </message>
    <message>
      <source>It is not ticked in the plan; nothing was written.</source>
      <translation>Es ist im Plan nicht angekreuzt; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>It is shown and never written; mend it with the tools of whoever wrote it.</source>
      <translation>Es wird gezeigt und nie geschrieben; reparieren Sie es mit den Werkzeugen seines Schreibers.</translation>
    </message>
    <message>
      <source>It is written all the time; repair it again later.</source>
      <translation>Es wird ständig geschrieben; reparieren Sie es später.</translation>
    </message>
    <message>
      <source>It is younger than the grace period, so its writer may still be at work</source>
      <translation>Es ist jünger als die Schonfrist, sein Schreiber arbeitet vielleicht noch</translation>
    </message>
    <message>
      <source>It is younger than the grace period, so its writer may still be at work; scan again later.</source>
      <translation>Es ist jünger als die Schonfrist, sein Schreiber arbeitet vielleicht noch; prüfen Sie später erneut.</translation>
    </message>
    <message>
      <source>It sorts apart from the others, so another version may be taken for the newest.</source>
      <translation>Sie sortiert sich abseits der anderen, so dass eine andere für die neueste gelten kann.</translation>
    </message>
    <message>
      <source>It was counted twice, or its list was written without a guard.</source>
      <translation>Er wurde doppelt gezählt, oder seine Liste wurde ungesichert geschrieben.</translation>
    </message>
    <message>
      <source>It was meant to go: leave the archive as it is</source>
      <translation>Es sollte weg: das Archiv so lassen</translation>
    </message>
    <message>
      <source>It was undone already, by entry {0}.</source>
      <translation>Es wurde schon rückgängig gemacht, durch Eintrag {0}.</translation>
    </message>
    <message>
      <source>It was written to data in memory, which are gone.</source>
      <translation>Es wurde in Daten im Speicher geschrieben, die es nicht mehr gibt.</translation>
    </message>
    <message>
      <source>Its versions stay in {0}, and restoring one of them brings it back.</source>
      <translation>Seine Versionen bleiben in {0}, und das Wiederherstellen einer davon bringt es zurück.</translation>
    </message>
    <message>
      <source>Its writer may still be at work; look again after the grace period.</source>
      <translation>Sein Schreiber arbeitet vielleicht noch; sehen Sie nach der Schonfrist erneut nach.</translation>
    </message>
    <message>
      <source>Keep these kinds of value out of documents on this server.</source>
      <translation>Halten Sie diese Arten von Werten aus Dokumenten auf diesem Server heraus.</translation>
    </message>
    <message>
      <source>Later states are shown as unproven.</source>
      <translation>Spätere Stände werden als unbelegt gezeigt.</translation>
    </message>
    <message>
      <source>Later states are shown as unproven; look for the missing delta in a backup.</source>
      <translation>Spätere Stände werden als unbelegt gezeigt; suchen Sie das fehlende Delta in einer Sicherung.</translation>
    </message>
    <message>
      <source>Leave both as they are</source>
      <translation>Beide so lassen</translation>
    </message>
    <message>
      <source>Leave it as it is</source>
      <translation>So lassen</translation>
    </message>
    <message>
      <source>Line {0}, column {1}: {2}</source>
      <translation>Zeile {0}, Spalte {1}: {2}</translation>
    </message>
    <message>
      <source>Logged in as {0}{1}.</source>
      <translation>Angemeldet als {0}{1}.</translation>
    </message>
    <message>
      <source>Login</source>
      <translation>Anmeldung</translation>
    </message>
    <message>
      <source>Look at both lists; the token cannot be named exactly.</source>
      <translation>Sehen Sie beide Listen an; das Token lässt sich nicht genau benennen.</translation>
    </message>
    <message>
      <source>Look at the content; if it is right, save it once more, which stores its hash.</source>
      <translation>Sehen Sie den Inhalt an; stimmt er, speichern Sie ihn noch einmal, das speichert seinen Hash.</translation>
    </message>
    <message>
      <source>Look at the list; its entries cannot be told apart.</source>
      <translation>Sehen Sie die Liste an; ihre Einträge lassen sich nicht unterscheiden.</translation>
    </message>
    <message>
      <source>Look at the versions; the flag can be set once their numbers are right.</source>
      <translation>Sehen Sie die Versionen an; die Kennung lässt sich setzen, sobald ihre Nummern stimmen.</translation>
    </message>
    <message>
      <source>Look why the feed stopped, and set it going again; its resume point is not touched from here.</source>
      <translation>Sehen Sie nach, warum die Fütterung stehen blieb, und setzen Sie sie fort; ihr Fortsetzungspunkt wird von hier nicht berührt.</translation>
    </message>
    <message>
      <source>Looks at {0} and {1}.</source>
      <translation>Sieht {0} an und {1}.</translation>
    </message>
    <message>
      <source>Missing versions are never invented; if no rule of retention took them, look for them in a backup.</source>
      <translation>Fehlende Versionen werden nie erfunden; nahm sie keine Aufbewahrungsregel, suchen Sie sie in einer Sicherung.</translation>
    </message>
    <message>
      <source>Missing versions are never invented; look for them in a backup.</source>
      <translation>Fehlende Versionen werden nie erfunden; suchen Sie sie in einer Sicherung.</translation>
    </message>
    <message>
      <source>MongoDB {0}, {1}, answers in {2} ms.</source>
      <translation>MongoDB {0}, {1}, antwortet in {2} ms.</translation>
    </message>
    <message>
      <source>Move</source>
      <translation>Verschieben</translation>
    </message>
    <message>
      <source>Move the earlier versions into an archive before the document can no longer be saved.</source>
      <translation>Verschieben Sie die früheren Versionen in ein Archiv, bevor sich das Dokument nicht mehr speichern lässt.</translation>
    </message>
    <message>
      <source>Move them into that collection</source>
      <translation>In diese Sammlung verschieben</translation>
    </message>
    <message>
      <source>Name</source>
      <translation>Name</translation>
    </message>
    <message>
      <source>Names with dots, with a dollar in front, and empty ones are stored as they are.</source>
      <translation>Namen mit Punkten, mit Dollar am Anfang und leere werden gespeichert, wie sie sind.</translation>
    </message>
    <message>
      <source>Network</source>
      <translation>Netz</translation>
    </message>
    <message>
      <source>No current document</source>
      <translation>Kein aktuelles Dokument</translation>
    </message>
    <message>
      <source>No field of the documents sampled tells one version from another.</source>
      <translation>Kein Feld der Stichprobe unterscheidet eine Version von der anderen.</translation>
    </message>
    <message>
      <source>No server answers at {0}; check the address, and that a server runs there.</source>
      <translation>Unter {0} antwortet kein Server; prüfen Sie die Adresse und ob dort ein Server läuft.</translation>
    </message>
    <message>
      <source>No server that takes writes could be reached; check the connection and try again.</source>
      <translation>Kein Server, der Schreiben annimmt, war erreichbar; prüfen Sie die Verbindung und versuchen Sie es erneut.</translation>
    </message>
    <message>
      <source>No version carries the current flag, or several do, or another one than the newest.</source>
      <translation>Keine Version trägt die Kennung der aktuellen, oder mehrere, oder eine andere als die neueste.</translation>
    </message>
    <message>
      <source>Nobody is logged in: the address names no user.</source>
      <translation>Niemand ist angemeldet: Die Adresse nennt keinen Benutzer.</translation>
    </message>
    <message>
      <source>Nobody sees them unless they look into the archive.</source>
      <translation>Niemand sieht sie, außer beim Blick ins Archiv.</translation>
    </message>
    <message>
      <source>None or several current</source>
      <translation>Keine oder mehrere aktuelle</translation>
    </message>
    <message>
      <source>Not a {0}: leave out the separators between thousands and use a point.</source>
      <translation>Kein {0}: Lassen Sie Tausendertrenner weg und verwenden Sie einen Punkt.</translation>
    </message>
    <message>
      <source>Not a {0}: use a point.</source>
      <translation>Kein {0}: Verwenden Sie einen Punkt.</translation>
    </message>
    <message>
      <source>Not a {0}: {1}.</source>
      <translation>Kein {0}: {1}.</translation>
    </message>
    <message>
      <source>Not an Int{0}: {1} is too large; choose {2}.</source>
      <translation>Kein Int{0}: {1} ist zu groß; wählen Sie {2}.</translation>
    </message>
    <message>
      <source>Not an Int{0}: {1}.</source>
      <translation>Kein Int{0}: {1}.</translation>
    </message>
    <message>
      <source>Not encrypted, on this computer.</source>
      <translation>Nicht verschlüsselt, auf diesem Computer.</translation>
    </message>
    <message>
      <source>Not encrypted: everybody on the way can read and change what is sent. Use TLS where the server has it.</source>
      <translation>Nicht verschlüsselt: Jeder auf dem Weg kann Gesendetes lesen und ändern. Verwenden Sie TLS, wo der Server es kann.</translation>
    </message>
    <message>
      <source>Not known: the process ended before the answer came.</source>
      <translation>Nicht bekannt: Der Prozess endete, bevor die Antwort kam.</translation>
    </message>
    <message>
      <source>Not {0} {1}: {2}.</source>
      <translation>Kein {1}: {2}.</translation>
    </message>
    <message>
      <source>Nothing is wrong for readers; the next edit absorbs it.</source>
      <translation>Für Leser ist nichts falsch; die nächste Bearbeitung nimmt es auf.</translation>
    </message>
    <message>
      <source>Nothing is wrong where the contents are equal; make sure that writers filter by the id too.</source>
      <translation>Bei gleichem Inhalt ist nichts falsch; sorgen Sie dafür, dass Schreiber auch nach der Id filtern.</translation>
    </message>
    <message>
      <source>Nothing was changed, so nothing was written.</source>
      <translation>Nichts war geändert, also wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Nothing was written, so there is nothing to undo.</source>
      <translation>Es wurde nichts geschrieben, also gibt es nichts rückgängig zu machen.</translation>
    </message>
    <message>
      <source>Numbers are missing below the newest version: removed by a rule of retention, or lost.</source>
      <translation>Unter der neuesten Version fehlen Nummern: durch eine Aufbewahrungsregel entfernt oder verloren.</translation>
    </message>
    <message>
      <source>Numbers are never changed from here; decide which document keeps its number.</source>
      <translation>Nummern werden von hier nie geändert; entscheiden Sie, welches Dokument seine behält.</translation>
    </message>
    <message>
      <source>Numbers used twice or no numbers</source>
      <translation>Doppelte oder keine Nummern</translation>
    </message>
    <message>
      <source>Odd field names</source>
      <translation>Ungewöhnliche Feldnamen</translation>
    </message>
    <message>
      <source>Old pending tokens</source>
      <translation>Alte offene Token</translation>
    </message>
    <message>
      <source>One update copies {0} to the end of {1} and changes the document. It applies only if {2} is still {3}{4}.</source>
      <translation>Ein Update kopiert {0} ans Ende von {1} und ändert das Dokument. Es gilt nur, wenn {2} noch {3} ist{4}.</translation>
    </message>
    <message>
      <source>One update moves {0} to the end of {1} and puts the new version in its place. It applies only if {2}.{3} is still {4}{5}.</source>
      <translation>Ein Update schiebt {0} ans Ende von {1} und setzt die neue Version an seine Stelle. Es gilt nur, wenn {2}.{3} noch {4} ist{5}.</translation>
    </message>
    <message>
      <source>Only the current version can be edited; restore this one to work from it.</source>
      <translation>Nur die aktuelle Version lässt sich bearbeiten; stellen Sie diese wieder her, um von ihr auszugehen.</translation>
    </message>
    <message>
      <source>Only what differs from {0} is inserted. The unique index on {1} and {2} lets one writer have the next number.</source>
      <translation>Eingefügt wird nur, was von {0} abweicht. Der eindeutige Index auf {1} und {2} gibt einem Schreiber die nächste Nummer.</translation>
    </message>
    <message>
      <source>Phantom versions</source>
      <translation>Phantomversionen</translation>
    </message>
    <message>
      <source>Phantom v{0} blocks edits</source>
      <translation>Phantom v{0} blockiert</translation>
    </message>
    <message>
      <source>Phantoms v{0}–v{1} block edits</source>
      <translation>Phantome v{0}–v{1} blockieren</translation>
    </message>
    <message>
      <source>Picked by hand.</source>
      <translation>Von Hand gewählt.</translation>
    </message>
    <message>
      <source>Raise</source>
      <translation>Erhöhen</translation>
    </message>
    <message>
      <source>Raise the counter by hand once it is clear which numbers are in use.</source>
      <translation>Erhöhen Sie den Zähler von Hand, sobald klar ist, welche Nummern benutzt sind.</translation>
    </message>
    <message>
      <source>Readers get either of them; writers cannot tell which one they edit.</source>
      <translation>Leser erhalten irgendeines; Schreiber wissen nicht, welches sie bearbeiten.</translation>
    </message>
    <message>
      <source>Readers that ask for the flag get nothing, two documents or an old one.</source>
      <translation>Wer nach der Kennung fragt, erhält nichts, zwei Dokumente oder ein altes.</translation>
    </message>
    <message>
      <source>Reads {0}, all there are, as no filter narrows them.</source>
      <translation>Liest alle {0}, da kein Filter sie einengt.</translation>
    </message>
    <message>
      <source>Rebuild</source>
      <translation>Neu bilden</translation>
    </message>
    <message>
      <source>Refused: {0}.</source>
      <translation>Abgelehnt: {0}.</translation>
    </message>
    <message>
      <source>Remove</source>
      <translation>Entfernen</translation>
    </message>
    <message>
      <source>Residue of a running edit</source>
      <translation>Rest einer laufenden Bearbeitung</translation>
    </message>
    <message>
      <source>Restore</source>
      <translation>Wiederherstellen</translation>
    </message>
    <message>
      <source>Restore the highest version as a document, or leave the archive as the record of what was deleted.</source>
      <translation>Stellen Sie die höchste Version als Dokument wieder her oder lassen Sie das Archiv als Beleg des Gelöschten stehen.</translation>
    </message>
    <message>
      <source>Restore {0} as the next version of a document</source>
      <translation>{0} als nächste Version eines Dokuments wiederherstellen</translation>
    </message>
    <message>
      <source>Retryable writes</source>
      <translation>Wiederholbare Schreibvorgänge</translation>
    </message>
    <message>
      <source>Rights</source>
      <translation>Rechte</translation>
    </message>
    <message>
      <source>Run the check again on a quiet connection.</source>
      <translation>Wiederholen Sie die Prüfung über eine ruhige Verbindung.</translation>
    </message>
    <message>
      <source>Save</source>
      <translation>Speichern</translation>
    </message>
    <message>
      <source>Saved</source>
      <translation>Gespeichert</translation>
    </message>
    <message>
      <source>Say by an edit what the counter is.</source>
      <translation>Sagen Sie durch eine Bearbeitung, was der Zähler ist.</translation>
    </message>
    <message>
      <source>Say which whole number the version is, by an edit of your own.</source>
      <translation>Sagen Sie durch eine eigene Bearbeitung, welche ganze Zahl die Version ist.</translation>
    </message>
    <message>
      <source>Scans {0} and {1}.</source>
      <translation>Durchsucht {0} und {1}.</translation>
    </message>
    <message>
      <source>Scans {0} in the order of the index {1} and {2}.</source>
      <translation>Durchsucht {0} in der Reihenfolge des Index {1} und {2}.</translation>
    </message>
    <message>
      <source>Set</source>
      <translation>Setzen</translation>
    </message>
    <message>
      <source>Set both clocks by a time server: the ages of tokens and versions are read off them.</source>
      <translation>Stellen Sie beide Uhren nach einem Zeitserver: An ihnen wird das Alter von Token und Versionen abgelesen.</translation>
    </message>
    <message>
      <source>Several documents for one key</source>
      <translation>Mehrere Dokumente je Schlüssel</translation>
    </message>
    <message>
      <source>Several documents have the same hash, which is legal where their contents are equal.</source>
      <translation>Mehrere Dokumente haben denselben Hash, was bei gleichem Inhalt zulässig ist.</translation>
    </message>
    <message>
      <source>Shorten</source>
      <translation>Kürzen</translation>
    </message>
    <message>
      <source>Somebody else has written {0} of {1}; nothing was written.</source>
      <translation>Jemand anderes hat {0} von {1} geschrieben; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Soon no edit of it can be saved.</source>
      <translation>Bald lässt sich keine Bearbeitung mehr speichern.</translation>
    </message>
    <message>
      <source>Sound</source>
      <translation>In Ordnung</translation>
    </message>
    <message>
      <source>Stated by hand, and in no profile yet.</source>
      <translation>Von Hand angegeben und noch in keinem Profil.</translation>
    </message>
    <message>
      <source>Store it as the whole number {0}</source>
      <translation>Als ganze Zahl {0} speichern</translation>
    </message>
    <message>
      <source>Store them as whole numbers</source>
      <translation>Als ganze Zahlen speichern</translation>
    </message>
    <message>
      <source>Stored hash differs</source>
      <translation>Gespeicherter Hash weicht ab</translation>
    </message>
    <message>
      <source>TLS failed; check tls and tlsCAFile in the address</source>
      <translation>TLS schlug fehl; prüfen Sie tls und tlsCAFile in der Adresse</translation>
    </message>
    <message>
      <source>Take out</source>
      <translation>Herausnehmen</translation>
    </message>
    <message>
      <source>The archive has no copy of versions below the current one.</source>
      <translation>Das Archiv hat keine Kopie von Versionen unter der aktuellen.</translation>
    </message>
    <message>
      <source>The archive holds a version above the current one. It was written first and its edit never landed.</source>
      <translation>Das Archiv enthält eine Version über der aktuellen. Sie wurde zuerst geschrieben, und ihre Bearbeitung kam nie an.</translation>
    </message>
    <message>
      <source>The archive holds the current version too: an edit archived it and has not landed, or died.</source>
      <translation>Das Archiv enthält auch die aktuelle Version: Eine Bearbeitung archivierte sie und kam noch nicht an oder starb.</translation>
    </message>
    <message>
      <source>The archive holds the current version with another content: the document was edited in place.</source>
      <translation>Das Archiv enthält die aktuelle Version mit anderem Inhalt: Das Dokument wurde an Ort und Stelle bearbeitet.</translation>
    </message>
    <message>
      <source>The archive holds versions of a document that is gone.</source>
      <translation>Das Archiv enthält Versionen eines Dokuments, das es nicht mehr gibt.</translation>
    </message>
    <message>
      <source>The archive that a change stream feeds lacks the current version or earlier ones.</source>
      <translation>Dem Archiv, das ein Change Stream füttert, fehlt die aktuelle Version oder frühere.</translation>
    </message>
    <message>
      <source>The collection has rules for its documents, and this one does not meet them.</source>
      <translation>Die Sammlung hat Regeln für ihre Dokumente, und dieses erfüllt sie nicht.</translation>
    </message>
    <message>
      <source>The connection to {0} was lost; try again.</source>
      <translation>Die Verbindung zu {0} ging verloren; versuchen Sie es erneut.</translation>
    </message>
    <message>
      <source>The connection was lost while the write was on its way.</source>
      <translation>Die Verbindung ging verloren, während der Schreibvorgang unterwegs war.</translation>
    </message>
    <message>
      <source>The content holds the field {0} twice; take one of them out.</source>
      <translation>Der Inhalt enthält das Feld {0} zweimal; nehmen Sie eines heraus.</translation>
    </message>
    <message>
      <source>The content is right: store its hash</source>
      <translation>Der Inhalt stimmt: seinen Hash speichern</translation>
    </message>
    <message>
      <source>The copy of {0} was taken out of {1}; {2}.</source>
      <translation>Die Kopie von {0} wurde aus {1} herausgenommen; {2}.</translation>
    </message>
    <message>
      <source>The counter is lower than the highest number that is in use.</source>
      <translation>Der Zähler ist niedriger als die höchste benutzte Nummer.</translation>
    </message>
    <message>
      <source>The counter is missing, null or not a number.</source>
      <translation>Der Zähler fehlt, ist null oder keine Zahl.</translation>
    </message>
    <message>
      <source>The counter is too low by what the token stands for.</source>
      <translation>Der Zähler ist um das zu niedrig, wofür das Token steht.</translation>
    </message>
    <message>
      <source>The document</source>
      <translation>Das Dokument</translation>
    </message>
    <message>
      <source>The document does not decode, or would not survive being read and written again.</source>
      <translation>Das Dokument lässt sich nicht dekodieren oder überstünde Lesen und Zurückschreiben nicht.</translation>
    </message>
    <message>
      <source>The document is close to the largest that can be stored. Move its earlier versions into {0}_history (or the archive that a profile names)? The newest few stay; programs that read the array themselves will find the older ones there.</source>
      <translation>Das Dokument ist nahe der größten speicherbaren Größe. Seine früheren Versionen nach {0}_history verschieben (oder in das Archiv, das ein Profil nennt)? Die neuesten bleiben; Programme, die das Array selbst lesen, finden die älteren dort.</translation>
    </message>
    <message>
      <source>The document with its embedded versions is close to the largest that can be stored.</source>
      <translation>Das Dokument mit seinen eingebetteten Versionen ist nahe der größten speicherbaren Größe.</translation>
    </message>
    <message>
      <source>The document would be larger than the server's limit of 16 MB.</source>
      <translation>Das Dokument würde größer als die Grenze des Servers von 16 MB.</translation>
    </message>
    <message>
      <source>The edit that wrote it may still be at work; look again later.</source>
      <translation>Die Bearbeitung, die sie schrieb, läuft vielleicht noch; sehen Sie später erneut nach.</translation>
    </message>
    <message>
      <source>The embedded earlier versions are out of order, repeated or not all there.</source>
      <translation>Die eingebetteten früheren Versionen sind ungeordnet, wiederholt oder unvollständig.</translation>
    </message>
    <message>
      <source>The field {0} is kept by the layout itself, so a content cannot hold it; leave it out.</source>
      <translation>Das Feld {0} führt das Layout selbst, daher kann ein Inhalt es nicht enthalten; lassen Sie es weg.</translation>
    </message>
    <message>
      <source>The history ends, or has holes, where the feed did not run.</source>
      <translation>Der Verlauf endet oder hat Löcher, wo die Fütterung nicht lief.</translation>
    </message>
    <message>
      <source>The history shows a content that was replaced without a version of its own.</source>
      <translation>Der Verlauf zeigt einen Inhalt, der ohne eigene Version ersetzt wurde.</translation>
    </message>
    <message>
      <source>The list of processed entries holds an entry more than once.</source>
      <translation>Die Liste verarbeiteter Einträge enthält einen Eintrag mehrfach.</translation>
    </message>
    <message>
      <source>The new version is inserted beside {0}. The unique index on {1} and {2} lets one writer have its number.</source>
      <translation>Die neue Version wird neben {0} eingefügt. Der eindeutige Index auf {1} und {2} gibt einem Schreiber ihre Nummer.</translation>
    </message>
    <message>
      <source>The next edit of the document absorbs the copy; nothing needs to be done.</source>
      <translation>Die nächste Bearbeitung des Dokuments nimmt die Kopie auf; es ist nichts zu tun.</translation>
    </message>
    <message>
      <source>The next numbers that it hands out are taken already.</source>
      <translation>Die nächsten Nummern, die er ausgibt, sind schon vergeben.</translation>
    </message>
    <message>
      <source>The profile states it.</source>
      <translation>Das Profil gibt es an.</translation>
    </message>
    <message>
      <source>The program that writes this history would not know of an edit from here, and its patches would not lead to it; edit with that program.</source>
      <translation>Das Programm, das diesen Verlauf schreibt, wüsste nichts von einer Bearbeitung von hier, und seine Patches führten nicht zu ihr; bearbeiten Sie mit jenem Programm.</translation>
    </message>
    <message>
      <source>The query took longer than allowed; narrow the filter or add an index.</source>
      <translation>Die Abfrage dauerte länger als erlaubt; engen Sie den Filter ein oder ergänzen Sie einen Index.</translation>
    </message>
    <message>
      <source>The server did not answer in time.</source>
      <translation>Der Server antwortete nicht rechtzeitig.</translation>
    </message>
    <message>
      <source>The server does not accept the query: {0}.</source>
      <translation>Der Server nimmt die Abfrage nicht an: {0}.</translation>
    </message>
    <message>
      <source>The server does not recognise a write that it has seen before, as standalone servers do not.</source>
      <translation>Der Server erkennt einen schon gesehenen Schreibvorgang nicht wieder, wie alle Einzelserver.</translation>
    </message>
    <message>
      <source>The server does not say what time it has.</source>
      <translation>Der Server sagt nicht, wie spät es bei ihm ist.</translation>
    </message>
    <message>
      <source>The server has no room left; free some, or raise the quota, and try again.</source>
      <translation>Der Server hat keinen Platz mehr; schaffen Sie welchen oder erhöhen Sie das Kontingent und versuchen Sie es erneut.</translation>
    </message>
    <message>
      <source>The server refuses the write: {0}.</source>
      <translation>Der Server lehnt den Schreibvorgang ab: {0}.</translation>
    </message>
    <message>
      <source>The server's clock is within {0} s of this computer's.</source>
      <translation>Die Uhr des Servers weicht weniger als {0} s von der dieses Computers ab.</translation>
    </message>
    <message>
      <source>The stored hash is not the hash of the content: something wrote past it, or stored another field order.</source>
      <translation>Der gespeicherte Hash ist nicht der des Inhalts: Etwas schrieb an ihm vorbei oder speicherte eine andere Feldreihenfolge.</translation>
    </message>
    <message>
      <source>The swap applies only if every field is still exactly as it was read.</source>
      <translation>Der Tausch gilt nur, wenn jedes Feld noch genau so ist, wie es gelesen wurde.</translation>
    </message>
    <message>
      <source>The swap applies only if {0} is still {1}{2}. {3} follows by its own feed.</source>
      <translation>Der Tausch gilt nur, wenn {0} noch {1} ist{2}. {3} folgt durch seine eigene Fütterung.</translation>
    </message>
    <message>
      <source>The swap applies only if {0}{1} and the content are unchanged in this very document; the new hash is written with it.</source>
      <translation>Der Tausch gilt nur, wenn {0}{1} und der Inhalt in genau diesem Dokument unverändert sind; der neue Hash wird mitgeschrieben.</translation>
    </message>
    <message>
      <source>The token is not pending any more; nothing was written.</source>
      <translation>Das Token ist nicht mehr offen; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>The token is pending again.</source>
      <translation>Das Token ist wieder offen.</translation>
    </message>
    <message>
      <source>The token is taken out and {0} stays, in one write, and only while the token is still pending and not applied: what it stands for will not be counted.</source>
      <translation>Das Token wird herausgenommen und {0} bleibt, in einem Schreibvorgang und nur, solange das Token noch offen und nicht angewendet ist: Wofür es steht, wird nicht gezählt.</translation>
    </message>
    <message>
      <source>The token was counted already and is only taken out, if it is still both pending and applied.</source>
      <translation>Das Token wurde schon gezählt und wird nur herausgenommen, sofern es noch offen und angewendet ist.</translation>
    </message>
    <message>
      <source>The version</source>
      <translation>Die Version</translation>
    </message>
    <message>
      <source>The versions differ, so a person has to say which is right: compare them, and delete the other by hand.</source>
      <translation>Die Versionen weichen ab, also muss ein Mensch sagen, welche stimmt: Vergleichen Sie sie und löschen Sie die andere von Hand.</translation>
    </message>
    <message>
      <source>There are no change streams. {0}</source>
      <translation>Es gibt keine Change Streams. {0}</translation>
    </message>
    <message>
      <source>There is a document {0} already; choose another id.</source>
      <translation>Ein Dokument {0} gibt es schon; wählen Sie eine andere Id.</translation>
    </message>
    <message>
      <source>There is no collection {0} in {1}; `palimpsest collections` lists what is there.</source>
      <translation>In {1} gibt es keine Sammlung {0}; `palimpsest collections` zeigt, was da ist.</translation>
    </message>
    <message>
      <source>There is no connection to {0}: {1}.</source>
      <translation>Keine Verbindung zu {0}: {1}.</translation>
    </message>
    <message>
      <source>There is no host {0}: the name is not known; check its spelling and the network.</source>
      <translation>Es gibt keinen Host {0}: Der Name ist unbekannt; prüfen Sie Schreibweise und Netz.</translation>
    </message>
    <message>
      <source>There is no repair for it.</source>
      <translation>Dafür gibt es keine Reparatur.</translation>
    </message>
    <message>
      <source>These are records of what happened to other documents, and records are not changed from here.</source>
      <translation>Dies sind Aufzeichnungen dessen, was anderen Dokumenten geschah, und die werden von hier nicht geändert.</translation>
    </message>
    <message>
      <source>These versions cannot be shown, compared or restored.</source>
      <translation>Diese Versionen lassen sich nicht zeigen, vergleichen oder wiederherstellen.</translation>
    </message>
    <message>
      <source>This document cannot be read, so it can be shown and not written.</source>
      <translation>Dieses Dokument ist nicht lesbar; es kann gezeigt, aber nicht geschrieben werden.</translation>
    </message>
    <message>
      <source>This is a view, and views cannot be written to; write to the collection behind it.</source>
      <translation>Dies ist eine View, und in Views lässt sich nicht schreiben; schreiben Sie in die Sammlung dahinter.</translation>
    </message>
    <message>
      <source>This is no MongoDB address; write mongodb://user:password@host:27017/, or mongodb+srv:// for a cluster.</source>
      <translation>Dies ist keine MongoDB-Adresse; schreiben Sie mongodb://user:password@host:27017/, oder mongodb+srv:// für einen Cluster.</translation>
    </message>
    <message>
      <source>This server does not count how often its indexes are used ($indexStats).</source>
      <translation>Dieser Server zählt nicht, wie oft seine Indexe benutzt werden ($indexStats).</translation>
    </message>
    <message>
      <source>This session is read-only; allow writes to save changes.</source>
      <translation>Diese Sitzung ist schreibgeschützt; erlauben Sie das Schreiben, um Änderungen zu speichern.</translation>
    </message>
    <message>
      <source>This user may not read here; ask for the read role or use another user.</source>
      <translation>Dieser Benutzer darf hier nicht lesen; bitten Sie um die Rolle read oder nehmen Sie einen anderen.</translation>
    </message>
    <message>
      <source>This user may not write here; ask for the readWrite role or use another user.</source>
      <translation>Dieser Benutzer darf hier nicht schreiben; bitten Sie um die Rolle readWrite oder nehmen Sie einen anderen.</translation>
    </message>
    <message>
      <source>This user may read nothing; ask for the role read.</source>
      <translation>Dieser Benutzer darf nichts lesen; bitten Sie um die Rolle read.</translation>
    </message>
    <message>
      <source>Times are never changed from here; check the clocks of the writers.</source>
      <translation>Zeiten werden von hier nie geändert; prüfen Sie die Uhren der Schreiber.</translation>
    </message>
    <message>
      <source>Times out of order</source>
      <translation>Zeiten in falscher Folge</translation>
    </message>
    <message>
      <source>Tokens pending and applied</source>
      <translation>Token offen und angewendet</translation>
    </message>
    <message>
      <source>Two documents can carry the same id and version here: do not let several writers work on this server.</source>
      <translation>Zwei Dokumente können hier dieselbe Id und Version tragen: Lassen Sie nicht mehrere Schreiber auf diesem Server arbeiten.</translation>
    </message>
    <message>
      <source>Two documents carry the same number, or one carries something that is no number.</source>
      <translation>Zwei Dokumente tragen dieselbe Nummer, oder eines trägt etwas, das keine ist.</translation>
    </message>
    <message>
      <source>Two stored documents carry the same id and version, as no unique index keeps them apart.</source>
      <translation>Zwei gespeicherte Dokumente tragen dieselbe Id und Version, da kein eindeutiger Index sie trennt.</translation>
    </message>
    <message>
      <source>Types come back exact</source>
      <translation>Typen kommen genau zurück</translation>
    </message>
    <message>
      <source>Undone: {0} has {1}. {2}</source>
      <translation>Rückgängig gemacht: {0} hat {1}. {2}</translation>
    </message>
    <message>
      <source>Unfinished writes</source>
      <translation>Unfertige Schreibvorgänge</translation>
    </message>
    <message>
      <source>Unique indexes</source>
      <translation>Eindeutige Indexe</translation>
    </message>
    <message>
      <source>Unreadable documents</source>
      <translation>Unlesbare Dokumente</translation>
    </message>
    <message>
      <source>Uses the index {0}: looks at {1} and {2}.</source>
      <translation>Benutzt den Index {0}: sieht {1} an und {2}.</translation>
    </message>
    <message>
      <source>Values compare exactly</source>
      <translation>Werte vergleichen sich genau</translation>
    </message>
    <message>
      <source>Versions are missing or repeated with other contents; look for them in a backup before anything is changed.</source>
      <translation>Versionen fehlen oder wiederholen sich mit anderem Inhalt; suchen Sie sie in einer Sicherung, bevor etwas geändert wird.</translation>
    </message>
    <message>
      <source>Versions of a wrong type</source>
      <translation>Versionen mit falschem Typ</translation>
    </message>
    <message>
      <source>Versions that are dates, or carry them, are equal or run backwards.</source>
      <translation>Versionen, die Zeiten sind oder tragen, sind gleich oder laufen rückwärts.</translation>
    </message>
    <message>
      <source>What answers at {0} is no MongoDB server; check host and port.</source>
      <translation>Was unter {0} antwortet, ist kein MongoDB-Server; prüfen Sie Host und Port.</translation>
    </message>
    <message>
      <source>What goes</source>
      <translation>Was verschwindet,</translation>
    </message>
    <message>
      <source>What sorts by time shows them in another order than they were written.</source>
      <translation>Was nach Zeit sortiert, zeigt sie in anderer Reihenfolge, als sie geschrieben wurden.</translation>
    </message>
    <message>
      <source>Who looks a number up gets either document, or none.</source>
      <translation>Wer eine Nummer nachschlägt, erhält eines der Dokumente oder keines.</translation>
    </message>
    <message>
      <source>Would be archived</source>
      <translation>Würde archiviert</translation>
    </message>
    <message>
      <source>Would be computed again</source>
      <translation>Würde neu berechnet</translation>
    </message>
    <message>
      <source>Would be finished</source>
      <translation>Würde abgeschlossen</translation>
    </message>
    <message>
      <source>Would be listed once</source>
      <translation>Würde einmal gelistet</translation>
    </message>
    <message>
      <source>Would be moved</source>
      <translation>Würde verschoben</translation>
    </message>
    <message>
      <source>Would be put in order</source>
      <translation>Würde geordnet</translation>
    </message>
    <message>
      <source>Would be raised</source>
      <translation>Würde erhöht</translation>
    </message>
    <message>
      <source>Would be removed</source>
      <translation>Würde entfernt</translation>
    </message>
    <message>
      <source>Would be restored</source>
      <translation>Würde wiederhergestellt</translation>
    </message>
    <message>
      <source>Would be set</source>
      <translation>Würde gesetzt</translation>
    </message>
    <message>
      <source>Would be set right</source>
      <translation>Würde richtig gesetzt</translation>
    </message>
    <message>
      <source>Would be taken out</source>
      <translation>Würde herausgenommen</translation>
    </message>
    <message>
      <source>Would become a version of its own</source>
      <translation>Würde eine eigene Version</translation>
    </message>
    <message>
      <source>Would become a whole number</source>
      <translation>Würde zur ganzen Zahl</translation>
    </message>
    <message>
      <source>Writers that swap on a hash computed from the content never match.</source>
      <translation>Schreiber, die über einen aus dem Inhalt berechneten Hash tauschen, treffen nie.</translation>
    </message>
    <message>
      <source>a comma before {0} is not JSON; remove it.</source>
      <translation>ein Komma vor {0} ist kein JSON; entfernen Sie es.</translation>
    </message>
    <message>
      <source>a document for every version</source>
      <translation>ein Dokument für jede Version</translation>
    </message>
    <message>
      <source>a document for every version, the newest carries a flag</source>
      <translation>ein Dokument für jede Version, die neueste trägt eine Kennung</translation>
    </message>
    <message>
      <source>a document for every version, the newest carries {current}</source>
      <translation>ein Dokument für jede Version, die neueste trägt {current}</translation>
    </message>
    <message>
      <source>a layout that was stated by hand</source>
      <translation>ein von Hand angegebenes Layout</translation>
    </message>
    <message>
      <source>a record of changes to other documents</source>
      <translation>eine Aufzeichnung der Änderungen an anderen Dokumenten</translation>
    </message>
    <message>
      <source>a snapshot of every version in {archive}</source>
      <translation>ein Abbild jeder Version in {archive}</translation>
    </message>
    <message>
      <source>a whole number has no fraction; choose Double or Decimal128</source>
      <translation>eine ganze Zahl hat keinen Bruchteil; wählen Sie Double oder Decimal128</translation>
    </message>
    <message>
      <source>add a token</source>
      <translation>Token hinzufügen</translation>
    </message>
    <message>
      <source>add token</source>
      <translation>Tokenvermerk</translation>
    </message>
    <message>
      <source>an archive fed by a change stream</source>
      <translation>ein Archiv, das ein Change Stream füttert</translation>
    </message>
    <message>
      <source>another program's lock field</source>
      <translation>das Sperrfeld eines anderen Programms</translation>
    </message>
    <message>
      <source>apply once</source>
      <translation>Einmalverarbeitung</translation>
    </message>
    <message>
      <source>archived</source>
      <translation>archiviert</translation>
    </message>
    <message>
      <source>changed since ({0} → {1})</source>
      <translation>hat sich seitdem geändert ({0} → {1})</translation>
    </message>
    <message>
      <source>converted</source>
      <translation>umgewandelt</translation>
    </message>
    <message>
      <source>create</source>
      <translation>Anlegen</translation>
    </message>
    <message>
      <source>create index</source>
      <translation>Indexanlage</translation>
    </message>
    <message>
      <source>current {0} is not archived</source>
      <translation>das aktuelle {0} ist nicht archiviert</translation>
    </message>
    <message>
      <source>delete</source>
      <translation>Löschen</translation>
    </message>
    <message>
      <source>does not decode</source>
      <translation>lässt sich nicht dekodieren</translation>
    </message>
    <message>
      <source>drawn from the counter and never used</source>
      <translation>vom Zähler gezogen und nie benutzt</translation>
    </message>
    <message>
      <source>drop a token</source>
      <translation>Token streichen</translation>
    </message>
    <message>
      <source>drop token</source>
      <translation>Tokenstreichung</translation>
    </message>
    <message>
      <source>each version holds only what changed</source>
      <translation>jede Version enthält nur, was sich änderte</translation>
    </message>
    <message>
      <source>earlier versions in a second collection</source>
      <translation>frühere Versionen in einer zweiten Sammlung</translation>
    </message>
    <message>
      <source>earlier versions in {archive}</source>
      <translation>frühere Versionen in {archive}</translation>
    </message>
    <message>
      <source>earlier versions in {prev}</source>
      <translation>frühere Versionen in {prev}</translation>
    </message>
    <message>
      <source>edit</source>
      <translation>Bearbeitung</translation>
    </message>
    <message>
      <source>entries by time for the document in {id}</source>
      <translation>Einträge nach Zeit für das Dokument in {id}</translation>
    </message>
    <message>
      <source>every version</source>
      <translation>jede Version</translation>
    </message>
    <message>
      <source>every version is copied to {archive}</source>
      <translation>jede Version wird nach {archive} kopiert</translation>
    </message>
    <message>
      <source>expected a value</source>
      <translation>erwartet wird ein Wert</translation>
    </message>
    <message>
      <source>fields that are no content</source>
      <translation>Felder, die kein Inhalt sind</translation>
    </message>
    <message>
      <source>fields that tell array elements without an _id apart</source>
      <translation>Felder, die Array-Elemente ohne _id unterscheiden</translation>
    </message>
    <message>
      <source>finds {0}</source>
      <translation>findet {0}</translation>
    </message>
    <message>
      <source>finish a token</source>
      <translation>Token abschließen</translation>
    </message>
    <message>
      <source>finished</source>
      <translation>abgeschlossen</translation>
    </message>
    <message>
      <source>from where the patches lead</source>
      <translation>von wo die Patches ausgehen</translation>
    </message>
    <message>
      <source>has no {0}</source>
      <translation>hat kein {0}</translation>
    </message>
    <message>
      <source>hash differs</source>
      <translation>Hash weicht ab</translation>
    </message>
    <message>
      <source>hash differs in field order only</source>
      <translation>Hash weicht nur in der Feldreihenfolge ab</translation>
    </message>
    <message>
      <source>holds text that is no UTF-8</source>
      <translation>enthält Text, der kein UTF-8 ist</translation>
    </message>
    <message>
      <source>how long a writer may still be at work</source>
      <translation>wie lange ein Schreiber noch arbeiten kann</translation>
    </message>
    <message>
      <source>how the hash is made</source>
      <translation>wie der Hash gebildet wird</translation>
    </message>
    <message>
      <source>in the archive</source>
      <translation>im Archiv</translation>
    </message>
    <message>
      <source>in the document</source>
      <translation>im Dokument</translation>
    </message>
    <message>
      <source>insert</source>
      <translation>Einfügen</translation>
    </message>
    <message>
      <source>inserted the same key {0} times: exactly one got in, every time.</source>
      <translation>fügten denselben Schlüssel {0}-mal ein: Jedes Mal kam genau einer hinein.</translation>
    </message>
    <message>
      <source>kept</source>
      <translation>aufbewahrt</translation>
    </message>
    <message>
      <source>lost</source>
      <translation>verloren</translation>
    </message>
    <message>
      <source>lost: deleted before it could be archived</source>
      <translation>verloren: vor dem Archivieren gelöscht</translation>
    </message>
    <message>
      <source>lost: overwritten before it could be archived</source>
      <translation>verloren: vor dem Archivieren überschrieben</translation>
    </message>
    <message>
      <source>merge</source>
      <translation>Zusammenführung</translation>
    </message>
    <message>
      <source>moved</source>
      <translation>verschoben</translation>
    </message>
    <message>
      <source>next number</source>
      <translation>Nummernvergabe</translation>
    </message>
    <message>
      <source>no version carries {0}; {1} is the highest</source>
      <translation>keine Version trägt {0}; {1} ist die höchste</translation>
    </message>
    <message>
      <source>no versions recognised</source>
      <translation>keine Versionen erkannt</translation>
    </message>
    <message>
      <source>none: nothing is added</source>
      <translation>keines: nichts kommt dazu</translation>
    </message>
    <message>
      <source>none: nothing is deleted, only purged</source>
      <translation>keines: nichts wird gelöscht, nur endgültig entfernt</translation>
    </message>
    <message>
      <source>none: nothing is removed</source>
      <translation>keines: nichts wird entfernt</translation>
    </message>
    <message>
      <source>not in the archive yet</source>
      <translation>noch nicht im Archiv</translation>
    </message>
    <message>
      <source>nothing was changed</source>
      <translation>nichts wurde geändert</translation>
    </message>
    <message>
      <source>one version</source>
      <translation>eine Version</translation>
    </message>
    <message>
      <source>ordered</source>
      <translation>geordnet</translation>
    </message>
    <message>
      <source>purge</source>
      <translation>Endlöschung</translation>
    </message>
    <message>
      <source>put a token back</source>
      <translation>Token zurücklegen</translation>
    </message>
    <message>
      <source>put token back</source>
      <translation>Tokenrückgabe</translation>
    </message>
    <message>
      <source>raised</source>
      <translation>erhöht</translation>
    </message>
    <message>
      <source>rebuilt</source>
      <translation>neu gebildet</translation>
    </message>
    <message>
      <source>removed</source>
      <translation>entfernt</translation>
    </message>
    <message>
      <source>repair</source>
      <translation>Reparatur</translation>
    </message>
    <message>
      <source>restore</source>
      <translation>Wiederherstellung</translation>
    </message>
    <message>
      <source>restored</source>
      <translation>wiederhergestellt</translation>
    </message>
    <message>
      <source>retention or loss</source>
      <translation>Aufbewahrung oder Verlust</translation>
    </message>
    <message>
      <source>saved</source>
      <translation>gespeichert</translation>
    </message>
    <message>
      <source>set</source>
      <translation>gesetzt</translation>
    </message>
    <message>
      <source>shortened</source>
      <translation>gekürzt</translation>
    </message>
    <message>
      <source>snapshots of every version, which an application writes itself</source>
      <translation>Abbilder jeder Version, die eine Anwendung selbst schreibt</translation>
    </message>
    <message>
      <source>swapped the same version {0} times: exactly one won, every time.</source>
      <translation>tauschten dieselbe Version {0}-mal: Jedes Mal gewann genau einer.</translation>
    </message>
    <message>
      <source>take out a token that was counted already</source>
      <translation>schon gezähltes Token herausnehmen</translation>
    </message>
    <message>
      <source>taken out</source>
      <translation>herausgenommen</translation>
    </message>
    <message>
      <source>the archive holds current {0} too, with the same content</source>
      <translation>das Archiv enthält auch das aktuelle {0}, mit demselben Inhalt</translation>
    </message>
    <message>
      <source>the archive holds current {0} with another content</source>
      <translation>das Archiv enthält das aktuelle {0} mit anderem Inhalt</translation>
    </message>
    <message>
      <source>the archive holds {0} with another content: it was changed without a new version</source>
      <translation>das Archiv enthält {0} mit anderem Inhalt: Es wurde ohne neue Version geändert</translation>
    </message>
    <message>
      <source>the array of earlier states</source>
      <translation>das Array früherer Stände</translation>
    </message>
    <message>
      <source>the array of one document that holds the rows</source>
      <translation>das Array eines Dokuments, das die Zeilen enthält</translation>
    </message>
    <message>
      <source>the changes</source>
      <translation>die Änderungen</translation>
    </message>
    <message>
      <source>the collection with the earlier versions</source>
      <translation>die Sammlung mit den früheren Versionen</translation>
    </message>
    <message>
      <source>the content of {0}</source>
      <translation>den Inhalt von {0}</translation>
    </message>
    <message>
      <source>the content that it had before</source>
      <translation>den Inhalt, den es zuvor hatte</translation>
    </message>
    <message>
      <source>the current version and earlier ones in one document</source>
      <translation>die aktuelle Version und frühere in einem Dokument</translation>
    </message>
    <message>
      <source>the current version at the top of a document, earlier ones in an array inside it</source>
      <translation>die aktuelle Version oben im Dokument, frühere in einem Array darin</translation>
    </message>
    <message>
      <source>the earlier versions</source>
      <translation>die früheren Versionen</translation>
    </message>
    <message>
      <source>the field that lists the paths which a version removed</source>
      <translation>das Feld mit den Pfaden, die eine Version entfernte</translation>
    </message>
    <message>
      <source>the field with the document's id in the archive</source>
      <translation>das Feld mit der Id des Dokuments im Archiv</translation>
    </message>
    <message>
      <source>the field with the hash of the content</source>
      <translation>das Feld mit dem Hash des Inhalts</translation>
    </message>
    <message>
      <source>the field with the id of the document</source>
      <translation>das Feld mit der Id des Dokuments</translation>
    </message>
    <message>
      <source>the field with the number</source>
      <translation>das Feld mit der Nummer</translation>
    </message>
    <message>
      <source>the field with the number or date of the version</source>
      <translation>das Feld mit Nummer oder Datum der Version</translation>
    </message>
    <message>
      <source>the field with the time of the version</source>
      <translation>das Feld mit der Zeit der Version</translation>
    </message>
    <message>
      <source>the field with the write token</source>
      <translation>das Feld mit dem Schreib-Token</translation>
    </message>
    <message>
      <source>the field with who made the version</source>
      <translation>das Feld mit dem Urheber der Version</translation>
    </message>
    <message>
      <source>the field with why the version was made</source>
      <translation>das Feld mit dem Grund der Version</translation>
    </message>
    <message>
      <source>the fields that the hash is made of</source>
      <translation>die Felder, aus denen der Hash gebildet wird</translation>
    </message>
    <message>
      <source>the flag of the newest version, or the sub-document with the current state</source>
      <translation>die Kennung der neuesten Version oder das Unterdokument mit dem aktuellen Stand</translation>
    </message>
    <message>
      <source>the form of the patches</source>
      <translation>die Form der Patches</translation>
    </message>
    <message>
      <source>the last version is archived</source>
      <translation>die letzte Version wird archiviert</translation>
    </message>
    <message>
      <source>the list of entries that were counted</source>
      <translation>die Liste der gezählten Einträge</translation>
    </message>
    <message>
      <source>the list of tokens between step one and step two</source>
      <translation>die Liste der Token zwischen Schritt eins und zwei</translation>
    </message>
    <message>
      <source>the list of tokens that were counted</source>
      <translation>die Liste der gezählten Token</translation>
    </message>
    <message>
      <source>the marker of a version that ends a document</source>
      <translation>das Kennzeichen einer Version, die ein Dokument beendet</translation>
    </message>
    <message>
      <source>the name {0} stands twice in one document; rename one.</source>
      <translation>der Name {0} steht zweimal in einem Dokument; benennen Sie einen um.</translation>
    </message>
    <message>
      <source>the new document</source>
      <translation>das neue Dokument</translation>
    </message>
    <message>
      <source>the program that writes the history</source>
      <translation>das Programm, das den Verlauf schreibt</translation>
    </message>
    <message>
      <source>the rows of this collection</source>
      <translation>die Zeilen dieser Sammlung</translation>
    </message>
    <message>
      <source>the rows that can be current</source>
      <translation>die Zeilen, die aktuell sein können</translation>
    </message>
    <message>
      <source>the text ends too early</source>
      <translation>der Text endet zu früh</translation>
    </message>
    <message>
      <source>the value has ended here; remove what follows.</source>
      <translation>der Wert endet hier; entfernen Sie, was folgt.</translation>
    </message>
    <message>
      <source>the version is a hash of the content</source>
      <translation>die Version ist ein Hash des Inhalts</translation>
    </message>
    <message>
      <source>the version is the hash in {hash}</source>
      <translation>die Version ist der Hash in {hash}</translation>
    </message>
    <message>
      <source>this is no number.</source>
      <translation>dies ist keine Zahl.</translation>
    </message>
    <message>
      <source>undo</source>
      <translation>Rücknahme</translation>
    </message>
    <message>
      <source>used by {0} documents</source>
      <translation>von {0} Dokumenten benutzt</translation>
    </message>
    <message>
      <source>version {0} is a {1}</source>
      <translation>Version {0} ist ein {1}</translation>
    </message>
    <message>
      <source>was deleted since</source>
      <translation>wurde seitdem gelöscht</translation>
    </message>
    <message>
      <source>what a row did</source>
      <translation>was eine Zeile tat</translation>
    </message>
    <message>
      <source>what an edit may write</source>
      <translation>was eine Bearbeitung schreiben darf</translation>
    </message>
    <message>
      <source>what each change did, in {archive}</source>
      <translation>was jede Änderung tat, in {archive}</translation>
    </message>
    <message>
      <source>what each change did, written down by another program</source>
      <translation>was jede Änderung tat, von einem anderen Programm notiert</translation>
    </message>
    <message>
      <source>what each counter numbers</source>
      <translation>was jeder Zähler nummeriert</translation>
    </message>
    <message>
      <source>what orders the rows</source>
      <translation>wonach die Zeilen geordnet sind</translation>
    </message>
    <message>
      <source>where the number of the next version comes from</source>
      <translation>woher die Nummer der nächsten Version kommt</translation>
    </message>
    <message>
      <source>where the patch stands in a row</source>
      <translation>wo der Patch in einer Zeile steht</translation>
    </message>
    <message>
      <source>where the state stands in a row</source>
      <translation>wo der Stand in einer Zeile steht</translation>
    </message>
    <message>
      <source>which versions have a row</source>
      <translation>welche Versionen eine Zeile haben</translation>
    </message>
    <message>
      <source>with different contents</source>
      <translation>mit verschiedenen Inhalten</translation>
    </message>
    <message>
      <source>write 24 hexadecimal digits</source>
      <translation>schreiben Sie 24 hexadezimale Ziffern</translation>
    </message>
    <message>
      <source>write a number of at most 34 digits</source>
      <translation>schreiben Sie eine Zahl mit höchstens 34 Ziffern</translation>
    </message>
    <message>
      <source>write a number, Infinity or NaN</source>
      <translation>schreiben Sie eine Zahl, Infinity oder NaN</translation>
    </message>
    <message>
      <source>write a whole number</source>
      <translation>schreiben Sie eine ganze Zahl</translation>
    </message>
    <message>
      <source>write it as 2026-11-20 14:26, with seconds and zone if need be</source>
      <translation>schreiben Sie es als 2026-11-20 14:26, nötigenfalls mit Sekunden und Zone</translation>
    </message>
    <message>
      <source>write the text in double quotes</source>
      <translation>schreiben Sie den Text in doppelten Anführungszeichen</translation>
    </message>
    <message>
      <source>write true or false</source>
      <translation>schreiben Sie true oder false</translation>
    </message>
    <message>
      <source>{0} MiB of the 16 that fit</source>
      <translation>{0} MiB der 16, die passen</translation>
    </message>
    <message>
      <source>{0} Nothing was written.</source>
      <translation>{0} Es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} above current {1}</source>
      <translation>{0} über dem aktuellen {1}</translation>
    </message>
    <message>
      <source>{0} alone carries {1} now.</source>
      <translation>{0} allein trägt jetzt {1}.</translation>
    </message>
    <message>
      <source>{0} already holds another {1} of {2}, and history is never overwritten: the document was edited in place. Save it as a new document, or settle it in the repair centre.</source>
      <translation>{0} enthält schon ein anderes {1} von {2}, und Verlauf wird nie überschrieben: Das Dokument wurde an Ort und Stelle bearbeitet. Speichern Sie es als neues Dokument oder klären Sie es im Reparaturzentrum.</translation>
    </message>
    <message>
      <source>{0} are no whole numbers. Store them as the whole numbers they stand for?</source>
      <translation>{0} sind keine ganzen Zahlen. Als die ganzen Zahlen speichern, für die sie stehen?</translation>
    </message>
    <message>
      <source>{0} as {1}.</source>
      <translation>{0} als {1}.</translation>
    </message>
    <message>
      <source>{0} cannot be restored: {1}.</source>
      <translation>{0} lässt sich nicht wiederherstellen: {1}.</translation>
    </message>
    <message>
      <source>{0} carries {1}; {2} is the highest</source>
      <translation>{0} trägt {1}; {2} ist die höchste</translation>
    </message>
    <message>
      <source>{0} carry {1}</source>
      <translation>{0} tragen {1}</translation>
    </message>
    <message>
      <source>{0} changed since ({1} → {2}); nothing was written.</source>
      <translation>{0} hat sich seitdem geändert ({1} → {2}); es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} changed since it was listed; nothing was written.</source>
      <translation>{0} hat sich geändert, seit es gelistet wurde; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} closes the connection; it may want TLS (tls=true), or be no MongoDB server.</source>
      <translation>{0} schließt die Verbindung; vielleicht verlangt er TLS (tls=true) oder ist kein MongoDB-Server.</translation>
    </message>
    <message>
      <source>{0} databases are to be seen: {1}.</source>
      <translation>{0} Datenbanken sind sichtbar: {1}.</translation>
    </message>
    <message>
      <source>{0} did not answer in time; try again.</source>
      <translation>{0} antwortete nicht rechtzeitig; versuchen Sie es erneut.</translation>
    </message>
    <message>
      <source>{0} documents for this key</source>
      <translation>{0} Dokumente für diesen Schlüssel</translation>
    </message>
    <message>
      <source>{0} does not accept this user name and password; check both, and authSource.</source>
      <translation>{0} nimmt Benutzer und Passwort nicht an; prüfen Sie beide und authSource.</translation>
    </message>
    <message>
      <source>{0} does not answer in time; check the address, the network and firewalls.</source>
      <translation>{0} antwortet nicht rechtzeitig; prüfen Sie Adresse, Netz und Firewalls.</translation>
    </message>
    <message>
      <source>{0} gets {1}</source>
      <translation>{0} bekommt {1}</translation>
    </message>
    <message>
      <source>{0} goes up by {1} as the token is taken out, in one write, and only while the token is still pending and not applied: sending it twice changes nothing more.</source>
      <translation>{0} steigt um {1}, während das Token herausgenommen wird, in einem Schreibvorgang und nur, solange das Token noch offen und nicht angewendet ist: Zweimal senden ändert nichts weiter.</translation>
    </message>
    <message>
      <source>{0} has no unique index on {1} and {2}, so two writers could archive one version twice; create the index to write here.</source>
      <translation>{0} hat keinen eindeutigen Index auf {1} und {2}, also könnten zwei Schreiber eine Version doppelt archivieren; legen Sie zum Schreiben den Index an.</translation>
    </message>
    <message>
      <source>{0} has the index it needs.</source>
      <translation>{0} hat den nötigen Index.</translation>
    </message>
    <message>
      <source>{0} has the unique index now.</source>
      <translation>{0} hat jetzt den eindeutigen Index.</translation>
    </message>
    <message>
      <source>{0} hash differs</source>
      <translation>{0} Hash weicht ab</translation>
    </message>
    <message>
      <source>{0} hashes differ</source>
      <translation>{0} Hashes weichen ab</translation>
    </message>
    <message>
      <source>{0} holds a {1} of an earlier life; settle that in the repair centre.</source>
      <translation>{0} enthält ein {1} aus einem früheren Leben; klären Sie das im Reparaturzentrum.</translation>
    </message>
    <message>
      <source>{0} holds {1}</source>
      <translation>{0} enthält {1}</translation>
    </message>
    <message>
      <source>{0} holds {1}, above the current {2}: a phantom that an edit must not overwrite. Settle it in the repair centre first.</source>
      <translation>{0} enthält {1}, über dem aktuellen {2}: ein Phantom, das keine Bearbeitung überschreiben darf. Klären Sie es zuerst im Reparaturzentrum.</translation>
    </message>
    <message>
      <source>{0} in the archive</source>
      <translation>{0} im Archiv</translation>
    </message>
    <message>
      <source>{0} in the document</source>
      <translation>{0} im Dokument</translation>
    </message>
    <message>
      <source>{0} is a {1} and no version</source>
      <translation>{0} ist ein {1} und keine Version</translation>
    </message>
    <message>
      <source>{0} is as it was before the repair.</source>
      <translation>{0} ist wieder wie vor der Reparatur.</translation>
    </message>
    <message>
      <source>{0} is at {1}, not at the base of this edit; nothing was written.</source>
      <translation>{0} steht bei {1}, nicht bei der Basis dieser Bearbeitung; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} is deleted as {1}. All its versions stay; restore one to bring it back.</source>
      <translation>{0} ist als {1} gelöscht. Alle seine Versionen bleiben; stellen Sie eine wieder her, um es zurückzubringen.</translation>
    </message>
    <message>
      <source>{0} is deleted. {1}</source>
      <translation>{0} ist gelöscht. {1}</translation>
    </message>
    <message>
      <source>{0} is gone and its archive is not. Was it deleted by mistake, so that {1} should be a document again?</source>
      <translation>{0} gibt es nicht mehr, sein Archiv schon. Wurde es versehentlich gelöscht, so dass {1} wieder ein Dokument sein soll?</translation>
    </message>
    <message>
      <source>{0} is no JSON value; write text in double quotes.</source>
      <translation>{0} ist kein JSON-Wert; schreiben Sie Text in doppelten Anführungszeichen.</translation>
    </message>
    <message>
      <source>{0} is no number</source>
      <translation>{0} ist keine Zahl</translation>
    </message>
    <message>
      <source>{0} is no whole number. Store it as the number {1}?</source>
      <translation>{0} ist keine ganze Zahl. Als Zahl {1} speichern?</translation>
    </message>
    <message>
      <source>{0} is not as it was opened; nothing was written. {1}</source>
      <translation>{0} ist nicht mehr, wie es geöffnet wurde; es wurde nichts geschrieben. {1}</translation>
    </message>
    <message>
      <source>{0} is not expected here</source>
      <translation>{0} wird hier nicht erwartet</translation>
    </message>
    <message>
      <source>{0} is not known here; write text in double quotes.</source>
      <translation>{0} ist hier unbekannt; schreiben Sie Text in doppelten Anführungszeichen.</translation>
    </message>
    <message>
      <source>{0} is open read-only; to edit, reconnect and allow writes.</source>
      <translation>{0} ist schreibgeschützt geöffnet; erlauben Sie zum Bearbeiten beim Verbinden das Schreiben.</translation>
    </message>
    <message>
      <source>{0} is purged, with all its versions in {1}.</source>
      <translation>{0} ist endgültig gelöscht, mit allen Versionen in {1}.</translation>
    </message>
    <message>
      <source>{0} is removed from the archive</source>
      <translation>{0} wird aus dem Archiv entfernt</translation>
    </message>
    <message>
      <source>{0} is stored once now; {1}.</source>
      <translation>{0} ist jetzt einmal gespeichert; {1}.</translation>
    </message>
    <message>
      <source>{0} is stored {1}, {2}</source>
      <translation>{0} ist {1} gespeichert, {2}</translation>
    </message>
    <message>
      <source>{0} is {1}, {2} is in use</source>
      <translation>{0} ist {1}, benutzt ist {2}</translation>
    </message>
    <message>
      <source>{0} kinds of value come back byte for byte.</source>
      <translation>{0} Arten von Werten kommen Byte für Byte zurück.</translation>
    </message>
    <message>
      <source>{0} loses {1}</source>
      <translation>{0} verliert {1}</translation>
    </message>
    <message>
      <source>{0} missing</source>
      <translation>{0} fehlen</translation>
    </message>
    <message>
      <source>{0} missing: {1}</source>
      <translation>{0} fehlt: {1}</translation>
    </message>
    <message>
      <source>{0} of a wrong type</source>
      <translation>{0} mit falschem Typ</translation>
    </message>
    <message>
      <source>{0} out of order</source>
      <translation>{0} in falscher Reihenfolge</translation>
    </message>
    <message>
      <source>{0} pending since {1}</source>
      <translation>{0} offen seit {1}</translation>
    </message>
    <message>
      <source>{0} pending, {1}</source>
      <translation>{0} offen, {1}</translation>
    </message>
    <message>
      <source>{0} refuses the connection; check the port, and that a server runs there.</source>
      <translation>{0} lehnt die Verbindung ab; prüfen Sie den Port und ob dort ein Server läuft.</translation>
    </message>
    <message>
      <source>{0} says that {1} is deleted; restore a version before it.</source>
      <translation>{0} besagt, dass {1} gelöscht ist; stellen Sie eine Version davor wieder her.</translation>
    </message>
    <message>
      <source>{0} stands for no whole number. Which number is this version?</source>
      <translation>{0} steht für keine ganze Zahl. Welche Nummer ist diese Version?</translation>
    </message>
    <message>
      <source>{0} stored twice</source>
      <translation>{0} doppelt gespeichert</translation>
    </message>
    <message>
      <source>{0} takes connections.</source>
      <translation>{0} nimmt Verbindungen an.</translation>
    </message>
    <message>
      <source>{0} unproven</source>
      <translation>{0} unbelegt</translation>
    </message>
    <message>
      <source>{0} unreadable</source>
      <translation>{0} unlesbar</translation>
    </message>
    <message>
      <source>{0} versions</source>
      <translation>{0} Versionen</translation>
    </message>
    <message>
      <source>{0} version{1} missing</source>
      <translation>{0} Version(en) fehlen</translation>
    </message>
    <message>
      <source>{0} wants a user name and password for this, or another user.</source>
      <translation>{0} verlangt dafür Benutzer und Passwort oder einen anderen Benutzer.</translation>
    </message>
    <message>
      <source>{0} was changed in place since; nothing was written.</source>
      <translation>{0} wurde seitdem an Ort und Stelle geändert; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} was created by somebody else meanwhile; nothing was written.</source>
      <translation>{0} wurde inzwischen von jemand anderem angelegt; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} was deleted since it was opened; nothing was written.</source>
      <translation>{0} wurde gelöscht, seit es geöffnet wurde; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} was made before {1}</source>
      <translation>{0} entstand vor {1}</translation>
    </message>
    <message>
      <source>{0} was taken out of {1}; {2}.</source>
      <translation>{0} wurde aus {1} herausgenommen; {2}.</translation>
    </message>
    <message>
      <source>{0} writers inserted the same key: in {1} of {2} rounds more than one got in ({3} documents for {4} keys).</source>
      <translation>{0} Schreiber fügten denselben Schlüssel ein: In {1} von {2} Runden kam mehr als einer hinein ({3} Dokumente für {2} Schlüssel).</translation>
    </message>
    <message>
      <source>{0} writers swapped the same version: in {1} of {2} rounds more than one was told that it won ({3} wins for {4} versions).</source>
      <translation>{0} Schreiber tauschten dieselbe Version: In {1} von {2} Runden hörte mehr als einer, dass er gewonnen habe ({3} Siege für {4} Versionen).</translation>
    </message>
    <message>
      <source>{0} writers {1}</source>
      <translation>{0} Schreiber {1}</translation>
    </message>
    <message>
      <source>{0} {1} pending and applied</source>
      <translation>{0} offen und angewendet</translation>
    </message>
    <message>
      <source>{0} {1} times</source>
      <translation>{0} {1}-mal</translation>
    </message>
    <message>
      <source>{0} {1}; nothing was written.{2}</source>
      <translation>{0} {1}; es wurde nichts geschrieben.{2}</translation>
    </message>
    <message>
      <source>{0}. Is the content right, so that its hash may be stored beside it?</source>
      <translation>{0}. Stimmt der Inhalt, so dass sein Hash daneben gespeichert werden darf?</translation>
    </message>
    <message>
      <source>{0}. What is the count?</source>
      <translation>{0}. Wie lautet die Zählung?</translation>
    </message>
    <message>
      <source>{0}: hash differs</source>
      <translation>{0}: Hash weicht ab</translation>
    </message>
    <message>
      <source>{0}; expected a colon after the name {1}.</source>
      <translation>{0}; nach dem Namen {1} wird ein Doppelpunkt erwartet.</translation>
    </message>
    <message>
      <source>{0}; expected a comma or {1}.</source>
      <translation>{0}; erwartet wird ein Komma oder {1}.</translation>
    </message>
    <message>
      <source>{0}; expected a name in double quotes.</source>
      <translation>{0}; erwartet wird ein Name in doppelten Anführungszeichen.</translation>
    </message>
    <message>
      <source>{0}; index missing: {1}.</source>
      <translation>{0}; fehlender Index: {1}.</translation>
    </message>
    <message>
      <source>{0}{1} kept in the journal, from where it can be brought back.</source>
      <translation>{0} bleibt im Journal und lässt sich von dort zurückholen.</translation>
    </message>
  </context>
</TS>
